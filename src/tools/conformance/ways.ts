import type { ServiceProfile } from '../../base/profiles/index.js';
import type { Reply } from '../../service/client/exchange.js';
import { quoteOf } from '../../service/client/reason.js';
import { formOf } from './redacted.js';
import type { ConformanceWay } from './report.js';

/** What was seen of a topic. `advice`: the setting that follows; default: that of the topic. */
interface Seen {
  readonly found: string;
  readonly advice?: string;
}

/** What the interface page does not show. */
interface Topic {
  readonly topic: string;
  /** What a test needs to see it; null: every test may. */
  readonly toSee: string | null;
  /** The setting that follows, whatever is found. */
  readonly advice?: string;
  /** Whether a profile documents it, so that it is checked instead. */
  readonly isDocumented?: (profile: ServiceProfile) => boolean;
  /** Reads it from all responses. Other topics are noted by the row that sees them. */
  readonly seenIn?: (replies: readonly Reply[]) => Seen | undefined;
}

const TOPICS = {
  headers: {
    topic: 'what Authorization and X-Authorization carry',
    toSee: null,
    isDocumented: ({ credentials }) => credentials.kind === 'client',
  },
  errors: {
    topic: 'the bodies of errors',
    toSee: null,
    advice: 'Nothing to set: Volley quotes errors of every form.',
    seenIn: errorForms,
  },
  subscriptionPer: {
    topic: 'one subscription per key, or one for all',
    toSee: 'To see it: two lanes, and a subscription of one of them; --subscribe creates one.',
    advice: 'Nothing to set: Volley supports both.',
  },
  securityToken: {
    topic: 'whether a subscription shows its security token',
    toSee: 'To see it: --subscribe.',
    advice: 'Nothing to set: Volley recognises its subscription in each case.',
  },
  secondSubscription: {
    topic: 'the response to a second subscription',
    toSee: 'To see it: --subscribe.',
    advice: 'Nothing to set: Volley deletes its own subscription before it creates another.',
  },
  subscriptionWithoutKey: {
    topic: 'the response to a subscription without a key',
    toSee: 'To see it: --subscribe.',
    advice: 'Nothing to set: Volley always sends a key.',
  },
  requestId: { topic: 'which fields contain the request id', toSee: 'To see it: --to.' },
  resourceUrl: {
    topic: 'the address in resourceURL',
    toSee: 'To see it: --to.',
    advice: 'Nothing to set: Volley uses only the id, and never calls another host.',
  },
  spelling: {
    topic: 'which spellings of the sender the path accepts',
    toSee: 'To see it: --to or --request, with a sender that has a plus, a tel:, or punctuation.',
    advice: 'Nothing to set: Volley encodes everything that may be encoded.',
  },
  correlator: {
    topic: 'whether a response repeats the clientCorrelator',
    toSee: 'To see it: --to with --correlator.',
  },
  deduplication: {
    topic: 'whether a repeated clientCorrelator sends twice',
    toSee: 'To see it: --to with --twice, at the risk of a second message.',
    isDocumented: ({ correlatorLifetimeMs }) => correlatorLifetimeMs !== null,
  },
  retryAfter: {
    topic: 'the Retry-After of a 429',
    toSee: 'It is seen only if the quota is used up during the test.',
    advice: 'Nothing to set: Volley reads both forms, and has its own backoff.',
    seenIn: retryAfterForm,
  },
  quotaHeaders: { topic: 'headers that name the quota', toSee: null, seenIn: quotaHeaders },
  notification: {
    topic: 'how a notification differs from a poll',
    toSee: 'To see it: --listen with --to.',
    advice: 'Nothing to set: Volley reads delivery information wherever it appears.',
  },
  notificationToken: {
    topic: 'where a notification has the security token',
    toSee: 'To see it: --listen with --to.',
    isDocumented: ({ securityToken }) => securityToken !== 'anywhere',
  },
  tokens: { topic: 'how long tokens last', toSee: 'To see it: a lane with an account.' },
} as const satisfies Readonly<Record<string, Topic>>;
type TopicName = keyof typeof TOPICS;

/** The ways that a test has seen. */
export interface Ways {
  /** `advice`: the setting that follows, unless the topic has one. */
  note(topic: TopicName, found: string, advice?: string): void;
  /** All topics that the profile does not document, with what was found, also in these responses. */
  list(replies: readonly Reply[]): ConformanceWay[];
}

/** Opens it. */
export function openWays(profile: ServiceProfile): Ways {
  const noted = new Map<string, Seen>();
  return {
    note: (topic, found, advice) => void noted.set(topic, { found, ...(advice !== undefined && { advice }) }),
    list: (replies) =>
      Object.entries<Topic>(TOPICS)
        .filter(([, { isDocumented }]) => isDocumented?.(profile) !== true)
        .map(([name, { topic, toSee, advice, seenIn }]) => {
          const seen = noted.get(name) ?? seenIn?.(replies);
          return seen === undefined
            ? { kind: 'way', topic, found: null, advice: toSee }
            : { kind: 'way', topic, found: seen.found, advice: seen.advice ?? advice ?? null };
        }),
  };
}

function errorForms(replies: readonly Reply[]): Seen | undefined {
  const forms = new Map<number, Set<string>>();
  for (const reply of replies) {
    if (reply.status < 400) continue;
    forms.set(reply.status, (forms.get(reply.status) ?? new Set()).add(formOf(reply)));
  }
  if (forms.size === 0) return undefined;
  const listed = [...forms]
    .sort(([a], [b]) => a - b)
    .map(([status, each]) => `${status}: ${[...each].join(' or ')}`);
  return { found: listed.join('; ') };
}

function retryAfterForm(replies: readonly Reply[]): Seen | undefined {
  const refused = replies.find(({ status }) => status === 429);
  if (refused === undefined) return undefined;
  const header = refused.headers['retry-after'];
  if (header === undefined) return { found: 'there is none' };
  return { found: /^\d+$/.test(header.trim()) ? 'in seconds' : 'not in seconds, such as a date' };
}

const QUOTA_HEADER = /^(x-)?rate-?limit/;
const MOST_HEADERS = 4;

function quotaHeaders(replies: readonly Reply[]): Seen | undefined {
  if (replies.length === 0) return undefined;
  const shown = new Map<string, string>();
  for (const { headers } of replies)
    for (const [name, value] of Object.entries(headers))
      if (QUOTA_HEADER.test(name)) shown.set(name, `${name}: ${quoteOf(String(value))}`);
  if (shown.size === 0)
    return {
      found: 'there are none',
      advice: 'HOURLY_QUOTA: the number that your contract names, or auto.',
    };
  return {
    found: [...shown.values()].slice(0, MOST_HEADERS).join(', '),
    advice: 'HOURLY_QUOTA: this number, if it counts requests per hour.',
  };
}
