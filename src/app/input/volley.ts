import { z } from 'zod';
import type { Config } from '../../base/config/index.js';
import type { Events } from '../../base/events/events.js';
import { PROFILES, type ProfileName } from '../../base/profiles/index.js';
import { callback, durationText, optional, strict, withMethod } from '../../campaign/fields/input.js';
import { actor } from '../../campaign/states/actor.js';
import type { NotificationService } from '../../engine/notifications/notification-service.js';
import type { SubscriptionService } from '../../engine/notifications/subscription-service.js';
import { ROLES } from '../../engine/recovery/roles.js';
import type { TokenCache } from '../../service/auth/token-cache.js';
import type { ConformanceOptions } from '../../tools/conformance/report.js';
import type { Volley, VolleyOptions } from '../volley.js';
import { KEY_METHODS, POSITION_METHODS, STORED_LANE_METHODS, WEBHOOK_METHODS } from './access.js';
import { CAMPAIGN_METHODS } from './campaigns.js';
import {
  type Argument,
  checked,
  flag,
  type Inputs,
  LANE,
  limit,
  maybeCallback,
  maybeDuration,
  maybeFlag,
  maybeSignal,
  maybeText,
  maybeTexts,
  members,
  NAME,
  options,
  text,
  texts,
} from './checked.js';
import { INBOUND_METHODS, RECORDS_METHODS, SUPPRESSION_METHODS } from './numbers.js';
import { CHOICE, OUTBOX_METHODS, OUTBOXES_METHODS } from './outboxes.js';
import { SCHEDULE_METHODS, TEMPLATE_METHODS } from './schedules.js';

/** What `loadConfig` has returned: it has checked all of it. */
export const config = z.custom<Config>(
  (given) => typeof Object(given).redisPrefix === 'string' && Array.isArray(Object(given).lanes),
  'must be what `loadConfig` returns',
);

const events = withMethod<Events>('emit', 'must be what `createEvents` returns');

const { kind, id, name } = actor.unwrap().shape;
const actingFor: Argument<Parameters<Volley['as']>[0]> = [
  'actor',
  strict({
    ...{ kind, id, name },
    // Null: all.
    lanes: texts.nullish(),
    // Those of an API key, which was checked when it was created.
    limits: optional(z.record(z.string(), z.unknown())),
  }) as unknown as z.ZodType<Parameters<Volley['as']>[0]>,
];

/** The options of `createVolley`. */
export const VOLLEY_OPTIONS: z.ZodType<VolleyOptions> = members({
  config: config as z.ZodType<VolleyOptions['config']>,
  events: optional(events),
  actor: optional(strict({ kind, id, name })),
  random: maybeCallback(),
});

const subscription: Inputs<SubscriptionService> = {
  get: [],
  create: [options({ force: maybeFlag })],
  remove: [options({ force: maybeFlag })],
};

const SIGNAL: Argument<AbortSignal> = ['signal', maybeSignal];
const GENERATION: Argument<number> = ['generation', z.int().min(0)];
const token: Inputs<TokenCache> = {
  get: [SIGNAL],
  replaceRefused: [GENERATION, SIGNAL],
  newerThan: [GENERATION, SIGNAL],
  show: [],
  login: [['', members({ again: flag })]],
  refreshNow: [],
  close: [],
};

const notifications: Inputs<NotificationService> = {
  receiver: [],
  subscription: { now: [LANE] },
  subscriptionStatus: [LANE, ['of', optional(z.enum(['callback', 'inbound']))]],
};

const request: z.ZodType<NonNullable<ConformanceOptions['request']>> = members({ sender: text, id: text });
const send: z.ZodType<NonNullable<ConformanceOptions['send']>> = members({
  to: z.union([text, texts], 'must be a number, or a list of numbers'),
  sender: text,
  text: maybeText,
  correlator: maybeFlag,
  twice: maybeFlag,
});
const listen: z.ZodType<NonNullable<ConformanceOptions['listen']>> = members({
  url: text,
  wait: maybeDuration,
});
const conformance: Argument<ConformanceOptions> = options({
  lane: maybeText,
  profile: optional(z.enum(Object.keys(PROFILES) as ProfileName[])),
  baseUrl: maybeText,
  accountBaseUrl: maybeText,
  request: optional(request),
  login: maybeFlag,
  send: optional(send),
  subscribe: optional(strict({ url: text })),
  listen: optional(listen),
  signal: maybeSignal,
});

const VOLLEY_METHODS: Inputs<Volley> = {
  ...CAMPAIGN_METHODS,
  as: { now: [actingFor, ['authorise', maybeCallback()]] },
  outbox: { now: [NAME, CHOICE] },
  lanes: [],
  knownLanes: { now: [] },
  isSimulated: [LANE],
  refreshLanes: [],
  unconfiguredLanes: [],
  laneProblems: [],
  renameLane: [NAME, ['newName', text]],
  holdLane: [NAME, ['reason', maybeText]],
  resumeLane: [NAME],
  token: { now: [LANE] },
  conformance: { rows: [conformance] },
  workers: [],
  differences: [['than', optional(config)]],
  examine: {
    rows: [options({ than: optional(config), restored: optional(z.boolean()), howToStart: maybeCallback() })],
  },
  ping: [['within', durationText]],
  work: {
    now: [
      options({
        roles: optional(z.array(z.enum(ROLES)).min(1, 'must name at least one role').readonly()),
        concurrency: limit,
      }),
    ],
  },
  close: [],
  follow: { rows: [options({ after: maybeText, signal: maybeSignal })] },
  usage: [options({ from: maybeText, to: maybeText, lanes: maybeTexts, tag: maybeText, key: maybeText })],
  audit: [options({ lanes: maybeTexts, campaign: maybeText, limit, cursor: maybeText })],
  fleetSnapshot: [],
  watchLive: {
    now: [
      ['', members({ allowed: maybeTexts, lanes: texts, campaigns: texts })],
      ['onTick', callback()],
    ],
  },
  ledger: [LANE],
};

/** What a Volley has besides its methods. Events are checked by themselves. */
type Services = Omit<Volley, keyof Inputs<Volley> | 'events'>;

/** A Volley whose methods check their arguments. */
export function checkedVolley(volley: Volley): Volley {
  const parts: Services & Pick<Volley, 'outbox' | 'token'> = {
    outboxes: checked(volley.outboxes, OUTBOXES_METHODS),
    outbox: (...which: Parameters<Volley['outbox']>) => checked(volley.outbox(...which), OUTBOX_METHODS),
    storedLanes: checked(volley.storedLanes, STORED_LANE_METHODS),
    suppression: checked(volley.suppression, SUPPRESSION_METHODS),
    inbound: checked(volley.inbound, INBOUND_METHODS),
    keys: checked(volley.keys, KEY_METHODS),
    webhooks: checked(volley.webhooks, WEBHOOK_METHODS),
    positions: checked(volley.positions, POSITION_METHODS),
    notifications: checked(
      {
        ...volley.notifications,
        subscription: (lane: string) => checked(volley.notifications.subscription(lane), subscription),
      },
      notifications,
    ),
    token(lane: string) {
      const cache = volley.token(lane);
      return cache && checked(cache, token);
    },
    records: checked(volley.records, RECORDS_METHODS),
    schedules: checked(volley.schedules, SCHEDULE_METHODS),
    templates: checked(volley.templates, TEMPLATE_METHODS),
  };
  return checked({ ...volley, ...parts }, VOLLEY_METHODS);
}
