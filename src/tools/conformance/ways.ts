import type { ServiceProfile } from '../../base/profiles/index.js';
import type { Reply } from '../../service/client/exchange.js';
import { quoteOf } from '../../service/client/reason.js';
import type { Checker } from './check.js';
import { formOf } from './redacted.js';
import type { ConformanceWay } from './report.js';

/** What the interface page does not show, and what a test needs to see it. */
const TOPICS = {
  headers: { topic: 'what Authorization and X-Authorization carry', toSee: null },
  errors: { topic: 'the bodies of errors', toSee: null },
  subscriptionPer: {
    topic: 'one subscription per key, or one for all',
    toSee: 'To see it: two lanes, and a subscription of one of them; --subscribe creates one.',
  },
  securityToken: {
    topic: 'whether a subscription shows its security token',
    toSee: 'To see it: --subscribe.',
  },
  secondSubscription: {
    topic: 'the response to a second subscription',
    toSee: 'To see it: --subscribe.',
  },
  subscriptionWithoutKey: {
    topic: 'the response to a subscription without a key',
    toSee: 'To see it: --subscribe.',
  },
  requestId: { topic: 'which fields contain the request id', toSee: 'To see it: --to.' },
  resourceUrl: { topic: 'the address in resourceURL', toSee: 'To see it: --to.' },
  spelling: {
    topic: 'which spellings of the sender the path accepts',
    toSee: 'To see it: --to or --request, with a sender that has a plus, a tel:, or punctuation.',
  },
  correlator: {
    topic: 'whether a response repeats the clientCorrelator',
    toSee: 'To see it: --to with --correlator.',
  },
  deduplication: {
    topic: 'whether a repeated clientCorrelator sends twice',
    toSee: 'To see it: --to with --twice, at the risk of a second message.',
  },
  retryAfter: {
    topic: 'the Retry-After of a 429',
    toSee: 'It is seen only if the quota is used up during the test.',
  },
  quotaHeaders: { topic: 'headers that name the quota', toSee: null },
  notification: {
    topic: 'how a notification differs from a poll',
    toSee: 'To see it: --listen with --to.',
  },
  notificationToken: {
    topic: 'where a notification has the security token',
    toSee: 'To see it: --listen with --to.',
  },
  tokens: { topic: 'how long tokens last', toSee: 'To see it: a lane with an account.' },
} as const;
type Topic = keyof typeof TOPICS;

/** The ways that a test has seen. */
export interface Ways {
  /** `advice`: the setting that follows. */
  note(topic: Topic, found: string, advice?: string): void;
  /** All topics, with what was found, also in the responses that the checker has seen. */
  list(checker: Pick<Checker, 'seen'>): ConformanceWay[];
}

/** Opens it. What the profile documents is no topic. */
export function openWays(profile: ServiceProfile): Ways {
  const noted = new Map<Topic, { found: string; advice: string | null }>();
  const note: Ways['note'] = (topic, found, advice) =>
    void noted.set(topic, { found, advice: advice ?? null });
  return {
    note,
    list({ seen }) {
      const replies = seen.map(({ reply }) => reply);
      noteErrors(replies, note);
      noteRetryAfter(replies, note);
      noteQuotaHeaders(replies, note);
      return Object.entries(TOPICS)
        .filter(([name]) => !isDocumented(name, profile))
        .map(([name, { topic, toSee }]) => {
          const { found, advice } = noted.get(name as Topic) ?? { found: null, advice: toSee };
          return { kind: 'way', topic, found, advice };
        });
    },
  };
}

function isDocumented(
  topic: string,
  { credentials, correlatorLifetimeMs, securityToken }: ServiceProfile,
): boolean {
  if (topic === 'notificationToken') return securityToken !== 'anywhere';
  if (topic === 'headers') return credentials.kind === 'client';
  return topic === 'deduplication' && correlatorLifetimeMs !== null;
}

function noteErrors(replies: readonly Reply[], note: Ways['note']): void {
  const forms = new Map<number, Set<string>>();
  for (const reply of replies) {
    if (reply.status < 400) continue;
    forms.set(reply.status, (forms.get(reply.status) ?? new Set()).add(formOf(reply)));
  }
  if (forms.size === 0) return;
  const listed = [...forms]
    .sort(([a], [b]) => a - b)
    .map(([status, each]) => `${status}: ${[...each].join(' or ')}`);
  note('errors', listed.join('; '), 'Nothing to set: Volley quotes errors of every form.');
}

function noteRetryAfter(replies: readonly Reply[], note: Ways['note']): void {
  const refused = replies.find(({ status }) => status === 429);
  if (refused === undefined) return;
  const header = refused.headers['retry-after'];
  const form =
    header === undefined
      ? 'there is none'
      : /^\d+$/.test(header.trim())
        ? 'in seconds'
        : 'not in seconds, such as a date';
  note('retryAfter', form, 'Nothing to set: Volley reads both forms, and has its own backoff.');
}

const QUOTA_HEADER = /^(x-)?rate-?limit/;
const MOST_HEADERS = 4;

function noteQuotaHeaders(replies: readonly Reply[], note: Ways['note']): void {
  const found = new Map<string, string>();
  for (const { headers } of replies)
    for (const [name, value] of Object.entries(headers))
      if (QUOTA_HEADER.test(name)) found.set(name, `${name}: ${quoteOf(String(value))}`);
  if (replies.length === 0) return;
  if (found.size === 0)
    note('quotaHeaders', 'there are none', 'HOURLY_QUOTA: the number that your contract names, or auto.');
  else
    note(
      'quotaHeaders',
      [...found.values()].slice(0, MOST_HEADERS).join(', '),
      'HOURLY_QUOTA: this number, if it counts requests per hour.',
    );
}
