import { z } from 'zod';
import type { RotatedApiKey, ShownApiKey, SignInLink } from '../../app/access/api-keys.js';
import { NotAllowedError } from '../../campaign/errors/errors.js';
import { CHANGEABLE_LIMITS, keyLimits, LIMITS } from '../../campaign/limits/limits.js';
import {
  API_SCOPES,
  type ApiKey,
  type ApiKeyDetails,
  CONSOLE_SCOPES,
} from '../../campaign/states/api-key.js';
import { time } from '../../campaign/views/measures.js';
import { webhook } from '../../campaign/views/webhook-views.js';
import { allLanes, byApiKey, byKey, byLanesOfKey } from '../access.js';
import { call } from '../operation.js';
import { count, duration, laneName, ofLibrary } from '../schemas/schemas.js';

/** The keys of the HTTP API. */
const KEYS = { tag: 'API keys', scope: 'admin' } as const;
const NO_MORE =
  'A key cannot grant more than it has: no other scope or lane, no later expiry, and no looser limit.';
const ID = { id: 'as `keys list` shows it, the beginning of it, or last for the newest one' } as const;
const maxSuppressions = z
  .int()
  .min(0)
  .max(100_000_000)
  .optional()
  .describe('How many numbers it may suppress');

const MEMBERS = {
  id: z.string(),
  name: z.string(),
  test: z.boolean().describe('Whether it only reads, except on lanes whose service is a simulator'),
  session: z
    .boolean()
    .describe(
      'Whether it belongs to a session of the console that began with a sign-in link; it ends with that session',
    ),
  scopes: z.array(z.enum(API_SCOPES)),
  lanes: z.array(z.string()).nullable().describe('The only lanes that it may use; null: all'),
  createdBy: z
    .object({ id: z.string(), name: z.string() })
    .nullable()
    .describe('The key that created it; null if no key did'),
  state: z
    .enum(['active', 'expired', 'invalid'])
    .describe('`invalid`: it does not work, and must be replaced, for example because SECRETS_KEY changed'),
  createdAt: time,
  expiresAt: time.nullable().describe('Null: never'),
  oldSecretUntil: time
    .nullable()
    .describe('Until when a secret from before the last rotation works; null if none does'),
  needsPreviousKey: z.boolean().describe('Whether it works only with SECRETS_KEY_PREVIOUS'),
  maxSuppressions: count.describe('How many numbers it may suppress'),
  lastUsedAt: time.nullable().describe('With a precision of one minute; null before the first use'),
  senders: z.array(z.string()).nullable(),
  countries: z.array(z.string()).nullable(),
  maxSegments: count.nullable(),
  recipientsPerDay: count.nullable(),
  costPerDay: z.string().nullable(),
  requestsPerMinute: count.nullable(),
  addresses: z.array(z.string()).nullable(),
} as const;
const apiKey: z.ZodType<ApiKey> = z
  .object(MEMBERS)
  .meta({ id: 'ApiKey', description: 'A key without its secret. A limit that is null does not apply.' });
const SHOWN = {
  ...MEMBERS,
  key: z
    .string()
    .describe(
      'The text of the key, with its secret. Volley stores only a digest, so no other response has it',
    ),
} as const;
const shownKey: z.ZodType<ShownApiKey> = z.object(SHOWN);
const rotatedKey: z.ZodType<RotatedApiKey> = z.object({ ...SHOWN, webhooks: z.array(webhook) });
const apiKeyDetails: z.ZodType<ApiKeyDetails> = z.object({
  ...MEMBERS,
  suppressionsLeft: count.describe('How many more numbers it may suppress'),
  today: z
    .object({
      recipientCount: count.describe('Messages that it has stored in this UTC day on all of its lanes'),
      cost: z
        .string()
        .nullable()
        .describe('What these messages cost; null without prices, and without the limit `costPerDay`'),
      recipientsLeft: count
        .nullable()
        .describe('How many more messages it may store today; null without this limit'),
      costLeft: z
        .string()
        .nullable()
        .describe('What further messages may cost today; null without this limit'),
      resetsAt: time.describe('When the daily limits reset'),
    })
    .nullable()
    .describe('What counts towards the daily limits; null without one'),
});

const revoked = z.object({ id: z.string(), revoked: z.literal(true) });
/** With `cancelCampaigns`. */
const cancelledOfKey = z.object({
  cancelled: z.array(z.string()).describe('Campaigns that were cancelled'),
  emptied: z
    .array(z.object({ name: z.string(), lane: z.string(), cancelled: count }))
    .describe('Outboxes to which only the key wrote, and how many messages waited in each'),
  shared: z
    .array(z.object({ name: z.string(), lane: z.string() }))
    .describe('Outboxes to which the key wrote, and maybe others: what waits in them is still sent'),
});

/** The limit `name` of a key that exists: null, which would not be the limit, is refused with what to send instead. */
function changedLimit(name: string, limit: z.ZodOptional): z.ZodOptional {
  const schema = limit.unwrap() as z.ZodType;
  const error = schema.def.error as z.core.$ZodErrorMap | undefined;
  return schema
    .clone({
      ...schema.def,
      error: (issue: z.core.$ZodRawIssue) =>
        issue.input === null
          ? `It cannot be null: to lift the limit, leave it out and send \`"lift":["${name}"]\``
          : error?.(issue),
    })
    .optional();
}
const changedLimits = Object.fromEntries(
  Object.entries(keyLimits.omit({ test: true }).shape).map(([name, limit]) => [
    name,
    changedLimit(name, limit as z.ZodOptional),
  ]),
) as Omit<typeof keyLimits.shape, 'test'>;

/** The flags of limits that can be changed. One that is left out stays as it is. */
const CHANGEABLE = Object.fromEntries(
  Object.entries(LIMITS).flatMap(([name, { value, about }]) =>
    name === 'test' ? [] : [[name, { value, about: about.replace(/ \(default: [^)]*\)/, '') }]],
  ),
);

export const createKey = call({
  ...KEYS,
  name: 'createKey',
  summary: 'Create a key',
  description: 'Only this response contains the text of the key.',
  httpNote: `${NO_MORE} The new key has the lanes and limits of the calling key, unless you set others. A key with a limit per day or per minute cannot create keys. If you repeat the request, Volley creates another key.`,
  access: byLanesOfKey,
  audit: 'key.create',
  http: 'POST /keys',
  cli: {
    usage: 'keys create',
    flags: {
      name: { about: 'who uses it, for people', isRequired: true },
      scope: {
        value: 'scopes',
        about:
          'what it may do, separated by commas: status (states and counts, no numbers or texts), metrics (only /metrics), read (everything), send (create campaigns, put messages into outboxes, suppress numbers), operate (pause, cancel, and resolve them), inbound (only submit messages that people have sent), admin (manage lanes and keys)',
        isRequired: true,
      },
      lane: { value: 'lanes', about: 'the only lanes it may use, separated by commas (default: all)' },
      expires: {
        value: 'duration',
        about: 'how long it works, such as 90d, or never (default: 365d)',
        as: 'durationOrNever',
      },
      maxSuppressions: {
        value: 'count',
        about: 'how many numbers it may suppress (default: 10000)',
      },
      ...LIMITS,
    },
    examples: ['keys create --name shop --scope read,send --lane default'],
  },
  input: z.strictObject({
    name: z.string().max(100).describe('Who uses it, for people'),
    scope: z.array(z.enum(API_SCOPES)).min(1).describe('What it may do'),
    lane: z.array(laneName).min(1).optional().describe('The only lanes it may use'),
    expires: duration
      .nullable()
      .optional()
      .describe(
        'How long it works, such as `90d`; null: for ever. Default: `365d`, or as long as the calling key',
      ),
    maxSuppressions,
    ...keyLimits.shape,
  }),
  output: shownKey,
  returns: 'The key, and its text. `Location` is its address.',
  creates: { at: ({ id }) => `/keys/${id}` },
  run: (volley, { scope: scopes, lane: _, expires: lifetime, ...others }, { lanes }) =>
    volley.keys.create({ ...others, scopes, lanes, lifetime }),
});

export const listKeys = call({
  ...KEYS,
  name: 'listKeys',
  summary: 'List the keys',
  httpNote: 'A key that is limited to lanes sees those that may use no others.',
  access: byKey,
  http: 'GET /keys',
  cli: { usage: 'keys list', examples: ['keys list'] },
  input: z.strictObject({}),
  output: z.object({ keys: z.array(apiKey) }),
  returns: 'The keys that are not revoked, oldest first',
  run: async (volley, _input, { lanes }) => ({ keys: await volley.keys.list({ lanes }) }),
});

export const showKey = call({
  ...KEYS,
  name: 'showKey',
  summary: 'Show a key',
  description:
    'Returns the limits of the key, what counts towards its daily limits today, what remains of them, and when the key was last used.',
  access: byApiKey,
  http: 'GET /keys/{id}',
  cli: { usage: 'keys show <id>', arguments: ID, examples: ['keys show last'] },
  input: z.strictObject({ id: z.string() }),
  output: apiKeyDetails,
  returns: 'The key, without its text',
  outcomes: ['notFound'],
  run: (volley, { id }) => volley.keys.get(id),
});

export const getMe = call({
  name: 'getMe',
  summary: 'Show your own key',
  description:
    'Returns the scopes, lanes, and limits of the calling key, what remains of each limit, and when the limits reset. The `RateLimit-*` headers say how many requests remain.',
  tag: 'API keys',
  scope: 'any',
  access: byKey,
  http: 'GET /me',
  cli: { because: 'the command line has no key; `keys show` shows any' },
  input: z.strictObject({}),
  output: apiKeyDetails,
  returns: 'The key, without its text',
  async run(volley, _input, { key }) {
    if (key === undefined) throw new NotAllowedError('Only a caller with an API key has one to show.');
    return volley.keys.get(key.id);
  },
});

export const setKey = call({
  ...KEYS,
  name: 'setKey',
  summary: 'Change the limits of a key',
  description:
    'The new limits apply from the next request of the key. A limit that you leave out keeps its value. Its scopes and lanes, and whether it is a test key, do not change.',
  httpNote: `${NO_MORE} A key with a limit per day or per minute can only lower that limit of others.`,
  bucket: 'control',
  access: byApiKey,
  audit: 'key.set',
  http: 'PUT /keys/{id}',
  cli: {
    usage: 'keys set <id>',
    arguments: ID,
    flags: {
      lift: { value: 'limits', about: 'limits that no longer apply, such as senders,maxSegments' },
      maxSuppressions: { value: 'count', about: 'how many numbers it may suppress' },
      ...CHANGEABLE,
    },
    examples: ['keys set last --recipients-per-day 5000', 'keys set last --lift senders'],
  },
  input: z.strictObject({
    id: z.string().min(1).max(40),
    lift: z
      .array(z.enum(CHANGEABLE_LIMITS))
      .optional()
      .describe('Limits that no longer apply, such as `["senders"]`'),
    maxSuppressions,
    ...changedLimits,
  }),
  output: apiKey,
  returns: 'The key, with its limits',
  outcomes: ['notFound', 'badInput', 'overLimit'],
  run: (volley, { id, ...changes }) => volley.keys.set(id, changes),
});

export const revokeKey = call({
  ...KEYS,
  name: 'revokeKey',
  summary: 'Revoke a key',
  description:
    'The HTTP API refuses all further requests with it, and its sessions end. This cannot be undone.',
  bucket: 'control',
  access: byApiKey,
  audit: 'key.revoke',
  button: { tone: 'danger', asks: true },
  http: 'POST /keys/{id}/revoke',
  outcomes: ['notFound'],
  cli: {
    usage: 'keys revoke <id>',
    arguments: ID,
    flags: {
      cancelCampaigns: {
        about: 'also cancel its campaigns that have not ended, and empty the outboxes that only it wrote to',
      },
    },
    examples: ['keys revoke last'],
  },
  input: z.strictObject({ id: z.string().min(1).max(40), cancelCampaigns: z.boolean().default(false) }),
  output: z.union([revoked.extend(cancelledOfKey.shape), revoked]),
  returns: 'The key is revoked',
  async run(volley, { id, cancelCampaigns }) {
    const cancelled = await volley.keys.revoke(id, { cancelCampaigns });
    const done = { id, revoked: true } as const;
    return cancelCampaigns ? { ...done, ...cancelled } : done;
  },
});

export const rotateKey = call({
  ...KEYS,
  name: 'rotateKey',
  summary: 'Give a key a new secret',
  description:
    'Only this response contains the new text of the key. The old secret works for a while longer. The webhooks of the key still get results: if the old secret has leaked, disable those that are not yours.',
  httpNote: `${NO_MORE} So the new secret expires no later than the calling key. A key with a limit per day or per minute can rotate only itself.`,
  bucket: 'control',
  access: byApiKey,
  audit: 'key.rotate',
  http: 'POST /keys/{id}/rotate',
  cli: {
    usage: 'keys rotate <id>',
    arguments: ID,
    flags: {
      overlap: {
        value: 'duration',
        about: 'how long the old secret still works (default: 24h; 0s: not at all)',
        as: 'durationOrZero',
      },
      disableWebhooks: { about: 'also disable the webhooks that the key has added' },
    },
    examples: ['keys rotate last --overlap 2h', 'keys rotate last --overlap 0s --disable-webhooks'],
  },
  input: z.strictObject({
    id: z.string().min(1).max(40),
    overlap: z.string().optional().describe('How long the old secret still works. Default: `1d`'),
    disableWebhooks: z.boolean().default(false).describe('Also disable the webhooks that it has added'),
  }),
  output: rotatedKey,
  returns: 'The key, its new text, and its webhooks',
  outcomes: ['notFound', 'badInput', 'overLimit'],
  run: (volley, { id, overlap, disableWebhooks }) => volley.keys.rotate(id, { overlap, disableWebhooks }),
});

export const createSignInLink = call({
  tag: 'API keys',
  name: 'createSignInLink',
  http: { because: 'a client that could make links could give itself every right' },
  summary: 'Print a link to the console',
  description:
    'The link signs in once, within ten minutes. The session ends after 12 hours without a request, or after 7 days. Until then, `volley keys list` shows it, and `volley keys revoke` ends it.',
  access: allLanes('Links'),
  audit: 'console.link',
  cli: {
    usage: 'console',
    flags: {
      scope: {
        value: 'scopes',
        about: `what the session may do, separated by commas (default: ${CONSOLE_SCOPES.join(',')})`,
      },
    },
    examples: ['console', 'console --scope read'],
  },
  input: z.strictObject({ scope: z.array(z.enum(API_SCOPES)).optional() }),
  output: ofLibrary<SignInLink>(),
  returns: 'The link',
  run: (volley, { scope: scopes = CONSOLE_SCOPES }) => volley.keys.createLink({ scopes }),
});
