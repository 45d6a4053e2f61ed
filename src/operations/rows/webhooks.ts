import { z } from 'zod';
import { NotAllowedError } from '../../campaign/errors/errors.js';
import type { ApiKey } from '../../campaign/states/api-key.js';
import { DELIVERED_EVENTS } from '../../campaign/views/webhook-events.js';
import {
  failedDelivery,
  webhook,
  webhookTest,
  webhookWithSecret,
} from '../../campaign/views/webhook-views.js';
import { MAX_FILTER } from '../../reporting/webhooks/webhook-methods.js';
import { byLanesOfKey, byWebhook, requireRead } from '../access.js';
import { call, page } from '../operation.js';
import { count, LANE_FLAG, laneName, onlyOfLane } from '../schemas/schemas.js';

const ofWebhook = z.strictObject({ id: z.string().min(1).max(64) });

/** The command of an operation on an endpoint. */
const commandOf = (verb: string) => ({
  usage: `webhook ${verb} <webhook>`,
  arguments: { webhook: 'the webhook: its id, the beginning of it, or last for the newest one' },
  examples: [`webhook ${verb} last`],
});

const WEBHOOK = {
  tag: 'Webhooks',
  access: byWebhook,
  input: ofWebhook,
  outcomes: ['notFound'],
} as const;

/** An operation that changes an endpoint. */
const COMMAND = { ...WEBHOOK, scope: 'operate', bucket: 'control' } as const;

/** What an endpoint gets, a key must be allowed to read. */
const mustRead = (key: ApiKey | undefined): void => {
  if (key !== undefined) requireRead(key, 'A webhook gets numbers and references');
};

const MAX_EVENT_TYPES = DELIVERED_EVENTS.length;
const some = z.array(z.string().min(1).max(64)).min(1).max(MAX_FILTER).optional();
/** Where it is, and which events it gets. */
const SETTINGS = {
  url: z.string().describe('An https address, without a user or password'),
  events: z
    .array(z.enum(DELIVERED_EVENTS))
    .min(1)
    .max(MAX_EVENT_TYPES)
    .optional()
    .describe('Only events of these types. Default: all'),
  outboxes: some.describe(
    'Only results of these outboxes; with `tags`, also those of campaigns and outboxes with one of the tags. `lane.stopped` and `inbound.received` then come only if `events` names them',
  ),
  tags: some.describe(
    'Only results and states of campaigns, and results of outboxes, with one of these tags',
  ),
};
const FILTER_FLAGS = {
  events: { value: 'types', about: 'only events of these types, separated by commas (default: all)' },
  outboxes: { value: 'names', about: 'only results of these outboxes, separated by commas' },
  tags: { value: 'labels', about: 'only results of campaigns and outboxes with one of these tags' },
} as const;

export const addWebhook = call({
  name: 'addWebhook',
  summary: 'Add a webhook',
  description:
    'Workers post what happens from now on to its address: results of recipients, states of campaigns, lanes that have stopped, and messages from people, signed as Standard Webhooks says.',
  httpNote:
    'The key needs the scope `read` as well. The webhook keeps the lanes of the key, and ends with it: see `assignWebhook`. `secret` is shown only in this response.',
  tag: 'Webhooks',
  scope: 'operate',
  access: byLanesOfKey,
  audit: 'webhook.add',
  http: 'POST /webhooks',
  cli: {
    usage: 'webhook add <url>',
    arguments: { url: 'an https address that receives the events' },
    flags: {
      lane: { ...LANE_FLAG, about: 'only events of this lane (default: all lanes, also those added later)' },
      ...FILTER_FLAGS,
    },
    note: 'Volley prints its secret only once.',
    examples: [
      'webhook add https://shop.example/volley',
      'webhook add https://shop.example/volley --outboxes reminders --events recipients.settled',
    ],
  },
  input: z.strictObject({
    ...SETTINGS,
    lane: laneName.optional().describe('Only events of this lane. Default: all lanes of the key'),
  }),
  output: webhookWithSecret,
  returns: 'The webhook, and its secret. `Location` is its address.',
  creates: { at: ({ id }) => `/webhooks/${id}` },
  async run(volley, { lane: _lane, ...settings }, { lanes, key }) {
    mustRead(key);
    return volley.webhooks.add({ ...settings, lanes });
  },
});

export const setWebhook = call({
  ...COMMAND,
  name: 'setWebhook',
  summary: 'Change the address of a webhook, and which events it gets',
  description:
    'A filter that you leave out no longer applies. The webhook keeps its lanes and its secret, and events that it has not accepted yet go to the new address.',
  httpNote: 'The key needs the scope `read` as well.',
  audit: 'webhook.set',
  http: 'PUT /webhooks/{id}',
  cli: {
    usage: 'webhook set <webhook> <url>',
    arguments: { ...commandOf('set').arguments, url: 'an https address that receives the events' },
    flags: FILTER_FLAGS,
    examples: ['webhook set last https://shop.example/hooks --tags spring'],
  },
  input: ofWebhook.extend(SETTINGS),
  output: webhook,
  returns: 'The webhook as it is now',
  async run(volley, { id, ...settings }, { key }) {
    mustRead(key);
    return volley.webhooks.set(id, settings);
  },
});

export const assignWebhook = call({
  ...COMMAND,
  name: 'assignWebhook',
  summary: 'Give a webhook to another API key',
  description:
    'A webhook ends with its key. If its former key was revoked or has expired, Volley enables the webhook again and sends it what it has missed, as far as RETENTION has kept it.',
  httpNote: 'The webhook then belongs to the calling key, which also needs the scope `read`.',
  audit: 'webhook.assign',
  http: 'POST /webhooks/{id}/assign',
  cli: {
    ...commandOf('assign'),
    flags: { key: { value: 'id', about: 'the key (default: none, so that it stays until you remove it)' } },
    examples: ['webhook assign last --key 0123456789ab'],
  },
  input: ofWebhook.extend({
    key: z
      .string()
      .min(1)
      .max(64)
      .optional()
      .describe('The id of the key. Over HTTP, only the calling key, which is the default'),
  }),
  output: webhook,
  returns: 'The webhook belongs to the key',
  async run(volley, { id, key: wanted }, { key }) {
    mustRead(key);
    if (key !== undefined && wanted !== undefined && wanted !== key.id)
      throw new NotAllowedError('A key can take over a webhook only for itself: ask with the other key');
    return volley.webhooks.assign(id, { key: wanted });
  },
});

export const listWebhooks = call({
  name: 'listWebhooks',
  summary: 'List the webhooks',
  description: 'The oldest comes first.',
  httpNote: 'The key sees only those whose lanes it may all use.',
  tag: 'Webhooks',
  scope: 'read',
  cost: { tokens: 1 },
  access: byLanesOfKey,
  http: 'GET /webhooks',
  cli: { usage: 'webhook list', flags: { lane: LANE_FLAG }, examples: ['webhook list'] },
  input: z.strictObject({ lane: onlyOfLane('webhooks') }),
  output: z.object({ webhooks: z.array(webhook) }),
  returns: 'The webhooks',
  run: async (volley, _input, { lanes }) => ({ webhooks: await volley.webhooks.list({ lanes }) }),
});

export const getWebhook = call({
  ...WEBHOOK,
  name: 'getWebhook',
  summary: 'Get a webhook',
  scope: 'read',
  http: 'GET /webhooks/{id}',
  cli: { ...commandOf('show'), summary: 'Show a webhook, and how its requests go' },
  output: webhook,
  returns: 'The webhook',
  run: (volley, { id }) => volley.webhooks.get(id),
});

export const testWebhook = call({
  ...WEBHOOK,
  name: 'testWebhook',
  summary: 'Test a webhook',
  description:
    'Posts an event of the type `webhook.test` at once, from this process, and waits up to 20 seconds for the response.',
  scope: 'operate',
  cost: { tokens: 10 },
  audit: 'webhook.test',
  http: 'POST /webhooks/{id}/test',
  cli: { ...commandOf('test'), note: 'Exit code 1: it was not accepted.' },
  output: webhookTest,
  returns: 'What the endpoint answered',
  run: (volley, { id }) => volley.webhooks.test(id),
});

export const rotateWebhook = call({
  ...COMMAND,
  name: 'rotateWebhook',
  summary: 'Give a webhook another secret',
  description: 'For a while, Volley signs its events with both secrets.',
  httpNote: '`secret` is shown only in this response. The key needs the scope `read` as well.',
  audit: 'webhook.rotate',
  http: 'POST /webhooks/{id}/rotate',
  cli: {
    ...commandOf('rotate'),
    flags: {
      overlap: {
        value: 'duration',
        about: 'how long Volley also signs events with the former secret (default: 24h; 0s: not at all)',
        as: 'durationOrZero',
      },
    },
    note: 'Volley prints the secret only once.',
    examples: ['webhook rotate last --overlap 2h'],
  },
  input: ofWebhook.extend({
    overlap: z
      .string()
      .optional()
      .describe(
        'How long Volley also signs events with the former secret, such as `2h`; `0s`: not at all. Default: `1d`',
      ),
  }),
  output: webhookWithSecret,
  returns: 'The webhook, and its new secret',
  async run(volley, { id, overlap }, { key }) {
    mustRead(key);
    return volley.webhooks.rotate(id, { overlap });
  },
});

export const enableWebhook = call({
  ...COMMAND,
  name: 'enableWebhook',
  summary: 'Enable a webhook',
  description: 'Volley sends it what it has missed while it was disabled, as far as RETENTION has kept it.',
  httpNote: 'The key needs the scope `read` as well.',
  audit: 'webhook.enable',
  http: 'POST /webhooks/{id}/enable',
  cli: commandOf('enable'),
  output: webhook,
  returns: 'The webhook is enabled',
  async run(volley, { id }, { key }) {
    mustRead(key);
    return volley.webhooks.enable(id);
  },
});

export const disableWebhook = call({
  ...COMMAND,
  name: 'disableWebhook',
  summary: 'Disable a webhook',
  description: 'Volley sends it nothing until you enable it.',
  audit: 'webhook.disable',
  http: 'POST /webhooks/{id}/disable',
  cli: commandOf('disable'),
  output: webhook,
  returns: 'The webhook is disabled',
  run: (volley, { id }) => volley.webhooks.disable(id),
});

export const listFailedDeliveries = page({
  ...WEBHOOK,
  name: 'listFailedDeliveries',
  summary: 'List the events that a webhook refused',
  description:
    'Volley gave up on these events, because the endpoint refused each of them three times while it accepted others. They are sorted by id.',
  scope: 'read',
  cost: { itemsPerToken: 50 },
  http: 'GET /webhooks/{id}/failed',
  cli: commandOf('failed'),
  member: 'failed',
  item: failedDelivery,
  returns: 'A page of events',
  position: 'failed',
  limit: { max: 500, usual: 100 },
  async run(volley, { id, limit, cursor }) {
    const { failed, nextCursor } = await volley.webhooks.failed(id, { limit, cursor });
    return { items: failed, nextCursor };
  },
});

export const replayWebhook = call({
  ...COMMAND,
  name: 'replayWebhook',
  summary: 'Send refused events of a webhook again',
  description: 'The requests have the same `webhook-id`, and the current states of the recipients.',
  audit: 'webhook.replay',
  http: 'POST /webhooks/{id}/replay',
  cli: {
    ...commandOf('replay'),
    flags: { delivery: { value: 'id', about: 'only this event (default: all)' } },
  },
  input: ofWebhook.extend({
    delivery: z.string().max(64).optional().describe('Only this event. Default: all'),
  }),
  output: z.object({ id: z.string(), replayedCount: count }),
  returns: 'How many are sent again',
  run: async (volley, { id, delivery }) => ({
    id,
    replayedCount: await volley.webhooks.replay(id, { delivery }),
  }),
});

export const removeWebhook = call({
  ...COMMAND,
  name: 'removeWebhook',
  summary: 'Remove a webhook',
  description: 'Volley discards the events that it has not accepted yet.',
  audit: 'webhook.remove',
  http: 'DELETE /webhooks/{id}',
  cli: commandOf('remove'),
  output: z.object({ id: z.string(), state: z.literal('removed') }),
  returns: 'The webhook is removed',
  async run(volley, { id }) {
    await volley.webhooks.remove(id);
    return { id, state: 'removed' as const };
  },
});
