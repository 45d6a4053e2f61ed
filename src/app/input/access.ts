import { z } from 'zod';
import { durationText, optional, strict } from '../../campaign/fields/input.js';
import { CHANGEABLE_LIMITS, LIMIT_NAMES, LIMITS } from '../../campaign/limits/limits.js';
import { API_SCOPES } from '../../campaign/states/api-key.js';
import type { LimitName, SomeLimits } from '../../campaign/states/limit-values.js';
import { DELIVERED_EVENTS } from '../../campaign/views/webhook-events.js';
import { MAX_FILTER, type Webhooks } from '../../reporting/webhooks/webhook-methods.js';
import type { ApiKeys, RefusedRequest } from '../access/api-keys.js';
import type { LaneAdmin } from '../access/lane-admin.js';
import { POSITION_KINDS, type PositionKind, type Positions } from '../access/positions.js';
import {
  type Argument,
  ID,
  type Inputs,
  maybeDuration,
  maybeFlag,
  maybeText,
  maybeTexts,
  members,
  NAME,
  options,
  text,
} from './checked.js';

/** Limits, as the HTTP API and the command line take them. */
const limits = Object.fromEntries(
  LIMIT_NAMES.map((name) => [name, optional(LIMITS[name].schema as z.ZodType)]),
) as unknown as { readonly [Name in LimitName]: z.ZodType<SomeLimits[Name]> };

const { test: _, ...others } = limits;
const lift = optional(z.array(z.enum(CHANGEABLE_LIMITS)).readonly());
const choice = { lanes: maybeTexts };

const scopes = z.array(z.enum(API_SCOPES)).readonly();
const key = z.object({ id: text, name: text });
const refused: z.ZodType<RefusedRequest> = z.union(
  [strict({ key: optional(key), address: text }), strict({ key, code: text })],
  'must have an `address`, or a `key` and a `code`',
);

/** The methods of the API keys. */
export const KEY_METHODS: Inputs<ApiKeys> = {
  create: [
    [
      '',
      members({
        name: text,
        scopes,
        lanes: maybeTexts,
        // Null: for ever.
        lifetime: durationText.nullish(),
        maxSuppressions: optional(z.int().min(0)),
        ...limits,
      }),
    ],
  ],
  list: [options(choice)],
  get: [ID, options(choice)],
  rotate: [ID, options({ overlap: maybeDuration, disableWebhooks: maybeFlag })],
  set: [ID, ['', members({ ...others, lift, maxSuppressions: optional(z.int().min(0)) })]],
  revoke: [ID, options({ cancelCampaigns: maybeFlag })],
  check: [['key', text]],
  createLink: [['', members({ scopes })]],
  signIn: [
    ['', z.union([strict({ key: text }), strict({ link: text })], 'must have either a `key` or a `link`')],
  ],
  sessionEnd: [['session', text]],
  signOut: [['session', text]],
  refused: { now: [['', refused]] },
  isActive: [['key', text]],
};

const someTexts = optional(z.array(text).min(1).max(MAX_FILTER).readonly());
const webhookSettings = {
  url: text,
  events: optional(z.array(z.enum(DELIVERED_EVENTS)).min(1).readonly()),
  outboxes: someTexts,
  tags: someTexts,
};

/** The methods of the webhooks. */
export const WEBHOOK_METHODS: Inputs<Webhooks> = {
  add: [['', members({ ...webhookSettings, lanes: maybeTexts })]],
  set: [ID, ['', members(webhookSettings)]],
  assign: [ID, options({ key: maybeText })],
  list: [options(choice)],
  get: [ID, options(choice)],
  remove: [ID],
  test: [ID],
  rotate: [ID, options({ overlap: maybeDuration })],
  enable: [ID],
  disable: [ID],
  failed: [ID, options({ limit: optional(z.int()), cursor: maybeText })],
  replay: [ID, options({ delivery: maybeText })],
};

/** Their members are those of a lane in a lanes file, which the stored lanes check. */
const fields: Argument<Readonly<Record<string, unknown>>> = ['settings', z.record(z.string(), z.unknown())];

/** The methods of the lanes that are stored in Redis. */
export const STORED_LANE_METHODS: Inputs<LaneAdmin> = {
  add: [NAME, fields],
  set: [NAME, fields],
  remove: [NAME, ['expect', z.int()]],
  get: [NAME],
  list: [],
};

const kind: Argument<PositionKind> = ['kind', z.enum(POSITION_KINDS)];

/** The methods of the positions in lists. */
export const POSITION_METHODS: Inputs<Positions> = {
  conceal: [kind, ['position', text]],
  reveal: [kind, ['token', text]],
};
