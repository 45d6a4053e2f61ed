import { z } from 'zod';
import type { RotatedApiKey, ShownApiKey, SignInLink } from '../../app/access/api-keys.js';
import { keyLimits, LIMITS } from '../../campaign/limits/limits.js';
import {
  API_SCOPES,
  type ApiKey,
  type ApiKeyDetails,
  CONSOLE_SCOPES,
} from '../../campaign/states/api-key.js';
import { time } from '../../campaign/views/measures.js';
import { allLanes, byApiKey } from '../access.js';
import { call } from '../operation.js';
import { count, laneName, ofLibrary } from '../schemas/schemas.js';

/** The keys of the HTTP API. */
const KEYS = { tag: 'API keys' } as const;
/** An operation that returns the text of a key. */
const SECRET = {
  ...KEYS,
  http: { because: 'a client that could create keys could give itself every right' },
} as const;
const ID = { id: 'as `keys list` shows it, the beginning of it, or last for the newest one' } as const;
const MAX_SUPPRESSIONS = 100_000_000;

const MEMBERS = {
  id: z.string(),
  name: z.string(),
  test: z.boolean().describe('Whether it only reads, except on lanes whose service is a simulator'),
  session: z
    .boolean()
    .describe('Whether a sign-in link made it for one session of the console, with which it ends'),
  scopes: z.array(z.enum(API_SCOPES)),
  lanes: z.array(z.string()).nullable().describe('The only lanes that it may use; null: all'),
  state: z
    .enum(['active', 'expired', 'invalid'])
    .describe('`invalid`: it does not work, and must be replaced, for example because SECRETS_KEY changed'),
  createdAt: time,
  expiresAt: time.nullable().describe('Null: never'),
  oldSecretUntil: time
    .nullable()
    .describe('Until when the secret from before the last rotation works; null if none does'),
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
const apiKeyDetails: z.ZodType<ApiKeyDetails> = z.object({
  ...MEMBERS,
  today: z
    .object({
      recipientCount: count.describe('Messages that it has stored in this UTC day on all of its lanes'),
      cost: z.string().nullable().describe('What they cost; null without prices'),
      resetsAt: time.describe('When the daily limits start anew'),
    })
    .nullable()
    .describe('What the daily limits count; null without one'),
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

export const createKey = call({
  ...SECRET,
  name: 'createKey',
  summary: 'Create a key',
  description: 'Volley prints it only once.',
  access: allLanes('API keys'),
  audit: 'key.create',
  cli: {
    usage: 'keys create',
    flags: {
      name: { about: 'who uses it, for people', isRequired: true },
      scope: {
        value: 'scopes',
        about:
          'what it may do, separated by commas: status (states and counts, no numbers or texts), metrics (only /metrics), read (everything), send (create campaigns, put messages into outboxes, suppress numbers), operate (pause, cancel, and resolve them), inbound (only submit messages that people have sent), admin (add, change, and remove lanes)',
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
    name: z.string(),
    scope: z.array(z.enum(API_SCOPES)),
    lane: z.array(laneName).optional(),
    /** How long it works, in ms; null: for ever. */
    expires: z.string().nullable().optional(),
    maxSuppressions: z.int().min(0).max(MAX_SUPPRESSIONS).optional(),
    ...keyLimits.shape,
  }),
  output: ofLibrary<ShownApiKey>(),
  returns: 'The key, and its text',
  run: (volley, { scope: scopes, lane: lanes, expires: lifetime, ...others }) =>
    volley.keys.create({ ...others, scopes, lanes, lifetime }),
});

export const listKeys = call({
  ...KEYS,
  name: 'listKeys',
  summary: 'List the keys',
  scope: 'admin',
  access: allLanes('API keys'),
  http: 'GET /keys',
  cli: { usage: 'keys list', examples: ['keys list'] },
  input: z.strictObject({}),
  output: z.object({ keys: z.array(apiKey) }),
  returns: 'The keys that are not revoked, oldest first',
  run: async (volley) => ({ keys: await volley.keys.list() }),
});

export const showKey = call({
  ...KEYS,
  name: 'showKey',
  summary: 'Show a key',
  description: 'Its limits, what it has stored today as far as they count it, and when it was last used.',
  scope: 'admin',
  access: byApiKey,
  http: 'GET /keys/{id}',
  cli: { usage: 'keys show <id>', arguments: ID, examples: ['keys show last'] },
  input: z.strictObject({ id: z.string() }),
  output: apiKeyDetails,
  returns: 'The key, without its text',
  outcomes: ['notFound'],
  run: (volley, { id }) => volley.keys.get(id),
});

export const revokeKey = call({
  ...KEYS,
  name: 'revokeKey',
  summary: 'Revoke a key',
  description:
    'The HTTP API refuses all further requests with it, and its sessions end. This cannot be undone.',
  scope: 'admin',
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
  ...SECRET,
  name: 'rotateKey',
  summary: 'Give a key a new secret',
  description:
    'Volley prints the key only once. The old secret works for a while longer. The webhooks of the key still get results: if the old secret has leaked, disable those that are not yours.',
  access: byApiKey,
  audit: 'key.rotate',
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
    id: z.string(),
    /** In ms. */
    overlap: z.string().optional(),
    disableWebhooks: z.boolean().default(false),
  }),
  output: ofLibrary<RotatedApiKey>(),
  returns: 'The key, its new text, and its webhooks',
  run: (volley, { id, overlap, disableWebhooks }) => volley.keys.rotate(id, { overlap, disableWebhooks }),
});

export const createSignInLink = call({
  ...KEYS,
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
