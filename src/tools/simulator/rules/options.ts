import { z } from 'zod';
import { AccountTree } from './account-tree.js';
import { distributionSchema } from './distribution.js';
import { ERROR_BODIES } from './error-bodies.js';
import {
  ACCOUNT_FAULTS,
  POLL_FAULTS,
  probabilitiesSchema,
  RECORDS_FAULTS,
  RECORDS_READ_FAULTS,
  SEND_FAULTS,
} from './faults.js';
import { NOTIFICATION_SHAPES, TOKEN_PLACES } from './notification-faults.js';
import { QUOTA_MODELS } from './quota-models.js';

const wholeMs = z.int().min(1);

const quotaFields = {
  /** Requests per window; null means unlimited. */
  quota: z.int().min(0).max(10_000_000).nullable().default(null),
  model: z.enum(QUOTA_MODELS).default('sliding'),
  windowMs: wholeMs.default(3_600_000),
  /** The service knows the key but answers 403. */
  forbidden: z.boolean().default(false),
};

/** The quota of an API key, or of an account, whose access tokens are accepted like a key. */
const keySchema = z.union(
  [
    z.strictObject({ key: z.string().min(1), ...quotaFields }),
    z.strictObject({ account: z.string().min(1), ...quotaFields }),
  ],
  {
    error:
      'must be { key or account, quota, model, windowMs, forbidden } with quota a whole number or null and model one of ' +
      QUOTA_MODELS.join(', '),
  },
);

const accountSchema = z
  .strictObject({
    /** The user of the account. A child account needs none: its reseller logs in for it. */
    username: z.string().min(1).optional(),
    password: z.string().min(1).optional(),
    /** Default: the username. */
    accountId: z.string().min(1).optional(),
    /** The id of the account that this one is a child of. A tree may have any depth. */
    parent: z.string().min(1).optional(),
    /** Whether its user may log in for its child accounts, at any level. */
    reseller: z.boolean().default(false),
    /** Child accounts without a user, in short. */
    targetAccountIds: z.array(z.string().min(1)).default([]),
  })
  .refine(
    ({ username, password, accountId }) =>
      (username === undefined) === (password === undefined) && (username ?? accountId) !== undefined,
    'must have a username with a password, or an accountId',
  );

/** Child accounts form a tree. An account may have several users. */
const accountsSchema = z.array(accountSchema).superRefine((accounts, context) => {
  const tree = new AccountTree(accounts);
  for (const [index, account] of accounts.entries()) {
    const message = tree.problemOf(account);
    if (message !== undefined) context.addIssue({ code: 'custom', path: [index], message });
  }
});

const tokensSchema = z.strictObject({
  accessLifetimeMs: wholeMs.default(15 * 60_000),
  refreshLifetimeMs: wholeMs.default(30 * 24 * 3_600_000),
  /** Whether the tokens state their expiry. They expire in any case. */
  withExp: z.boolean().default(true),
  /** Failed logins in total, regardless of successes, after which the account is blocked; null means never. */
  lockoutAfter: z.int().min(1).nullable().default(5),
});

/** Where a reply of the account interface contains its result code; the interface page does not document it. */
const resultCodeSchema = z.strictObject({
  placement: z.enum(['resultCode', 'error.code', 'message']).default('resultCode'),
  status: z.union([z.literal(200), z.literal(400), z.literal(401)]).default(401),
});

/** The members of a contract that a service needs, read without the client's code: the two must not share a misreading. */
const template = z.looseObject({
  method: z.string(),
  path: z.string().startsWith('/').nullable(),
  headers: z.record(z.string(), z.string()),
  body: z.union([
    z.null(),
    z.object({ json: z.unknown() }),
    z.object({ form: z.record(z.string(), z.string()) }),
  ]),
});
const words = z.array(z.string());
const contractSchema = z.looseObject({
  baseUrl: z.url(),
  request: template.extend({ id: z.string() }),
  status: template.extend({
    word: z.string(),
    pending: words,
    ready: words,
    failed: words,
    expired: words,
    empty: words,
  }),
  download: template.extend({ address: z.string().nullable() }),
  parameters: z.record(z.string(), z.looseObject({ required: z.boolean() })),
});
const fields = z.strictObject({
  host: z.string().min(1).default('127.0.0.1'),
  /** Names under which clients reach the simulator, besides addresses and names without a dot. */
  allowedHosts: z.array(z.string().min(1)).default([]),
  /** What clients of the control interface send as `Authorization: Bearer …` unless `host` is a loopback address. Default: random. */
  controlToken: z.string().min(16).optional(),
  port: z.int().min(0).max(65_535).default(0),
  /** The seed of the random generator that makes all random choices. */
  seed: z.int().min(0).max(0xffff_ffff).default(1),

  keys: z.array(keySchema).default([{ key: 'simulator-key', ...defaultsOf(quotaFields) }]),
  accounts: accountsSchema.default([]),
  /**
   * What the messaging interface accepts (how key and token relate is not shown): an API key in `Authorization`, an access token
   * there, either of them, or both: the key in `Authorization` and a token in `X-Authorization`.
   */
  accepts: z.enum(['either', 'key', 'token', 'both']).default('either'),
  /** The OAuth 2 clients of version 3, each with the products that it may send for. A key of its quota names it as `account`. */
  clients: z
    .array(
      z.strictObject({
        id: z.string().min(1),
        secret: z.string().min(1),
        products: z.array(z.string().min(1)).default(['sms-a2p-marketing']),
        /** The only scope that it may ask for, such as that of call records, instead of `sms` and a product. */
        scope: z.string().min(1).optional(),
      }),
    )
    .default([]),
  tokens: tokensSchema.prefault({}),
  resultCode: resultCodeSchema.prefault({}),

  /** The time from a request's arrival to its reply. */
  latency: distributionSchema.prefault(0),
  /** The network delay: from a request's last byte to its arrival, when it is counted and served. */
  arrivalDelay: distributionSchema.prefault(0),
  /** Records the content of every send and poll, at about 200 bytes per request. */
  wholeArrivals: z.boolean().default(false),
  /** The time from acceptance to the final status. */
  deliveryTime: distributionSchema.prefault(1_000),
  /** The share of ordinary recipients that end in DeliveryImpossible. */
  impossible: z.number().min(0).max(1).default(0),

  faults: probabilitiesSchema(SEND_FAULTS),
  pollFaults: probabilitiesSchema(POLL_FAULTS),
  accountFaults: probabilitiesSchema(ACCOUNT_FAULTS),
  /** `first`: a magic fault affects the first request with its number; `always`: every request; `off`: none. */
  magicRecipients: z.enum(['first', 'always', 'off']).default('first'),

  /** Retry-After of a 429 caused by the quota: the time until a request would be admitted, or no header. */
  quotaRetryAfter: z.enum(['none', 'seconds', 'date']).default('none'),
  /** Retry-After of a 429 caused by a fault or a magic recipient. */
  faultRetryAfterSeconds: z.int().min(0).default(2),

  /**
   * The body of an error: `message` is a JSON object with a message, and `oneApi` is that of the GSMA OneAPI family
   * (`requestError`).
   */
  errorBody: z.enum(ERROR_BODIES).default('message'),
  /**
   * The body of the 406 to a second subscription (NotAcceptableCallback): that of any error; a `code` with a description; the
   * `callback` that exists; or `none`.
   */
  notAcceptableBody: z.enum(['error', 'code', 'callback', 'none']).default('error'),
  /** The status for creating a subscription without a valid key: the interface page lists no 401 there. */
  subscriptionWithoutKey: z.union([z.literal(400), z.literal(401)]).default(401),

  /** The maximum number of addresses per request; more get a 400. null means no limit. */
  maxRecipients: z.int().min(1).nullable().default(null),
  /** Where a send reply contains its request id: the Location header, the body, both, or neither. */
  requestIdIn: z.enum(['both', 'location', 'body', 'none']).default('both'),
  /** Scheme and host of resourceURLs. They differ from this server on purpose, because no client may follow them. */
  resourceHost: z
    .string()
    .regex(/^https?:\/\/[^/]+$/)
    .default('https://messaging.example'),
  /**
   * The clientCorrelator of a send reply: `repeated` from the request, or generated if the request has none; `generated` even
   * if the request has one; or `none`.
   */
  correlatorInReply: z.enum(['repeated', 'generated', 'none']).default('repeated'),
  /** Version 1 sends nothing for a repeated clientCorrelator, either. Version 3 always does so, for 24 hours. */
  deduplicates: z.boolean().default(false),
  /**
   * With what a service that deduplicates answers a correlator that it knows: the `first` reply again; a 400 with the code `SVC0005`; a
   * 400 or a 409 without a code (`badRequest`, `conflict`).
   */
  knownCorrelator: z.enum(['first', 'SVC0005', 'badRequest', 'conflict']).default('first'),

  /** Whether each key has a subscription of its own, or all keys share one ("only one subscription can exist"). */
  subscriptionPer: z.enum(['key', 'client']).default('key'),

  /** Call records (area C). */
  records: z
    .strictObject({
      /** The contract that the client uses (docs/call-records.md); without one there are no call records. */
      contract: z.preprocess((value) => value, contractSchema.nullable()).prefault(null),
      /** The time from a request to its end. */
      pending: distributionSchema.prefault(200),
      /** The shares of requests that fail, and that have no records. */
      failed: z.number().min(0).max(1).default(0),
      empty: z.number().min(0).max(1).default(0),
      /** How long a file can be downloaded; null means for ever. */
      expiresAfterMs: wholeMs.nullable().default(null),
      /** About the size of a file. */
      bytes: z.int().min(1).max(100_000_000).default(2_000),
      /** The origin of download addresses; null means this server. */
      downloadOrigin: z
        .string()
        .regex(/^https?:\/\/[^/]+$/)
        .nullable()
        .default(null),
      faults: probabilitiesSchema(RECORDS_FAULTS),
      readFaults: probabilitiesSchema(RECORDS_READ_FAULTS),
    })
    .prefault({}),

  /** The messages that people send (version 3). */
  inbound: z
    .strictObject({
      /** The share of messages that are sent twice, although the first was received. */
      repeats: z.number().min(0).max(1).default(0.2),
      /** The waits before each further attempt, ms; null means as documented: from 2 minutes to 6 hours, for 3 days. */
      retryAfterMs: z.array(wholeMs).nullable().default(null),
    })
    .prefault({}),

  notifications: z
    .strictObject({
      /** `mixed`: a random place for each notification. */
      securityTokenIn: z.enum([...TOKEN_PLACES, 'none', 'mixed']).default('header'),
      shape: z.enum([...NOTIFICATION_SHAPES, 'mixed']).default('list'),
      /** Whether DeliveryImpossible is notified: the interface page names only the other two. */
      notifyImpossible: z.boolean().default(true),
      /** The time from a status change to its notification. */
      delay: distributionSchema.prefault(0),
      /** Half of the DeliveredToNetwork notifications arrive after the final one. */
      shuffle: z.boolean().default(false),
      /** The share of notifications that are lost, and the share of the others that arrive twice. */
      loss: z.number().min(0).max(1).default(0),
      duplicates: z.number().min(0).max(1).default(0),
      /** The share of notifications preceded by a forged one, with another final status and a wrong token. */
      forged: z.number().min(0).max(1).default(0),
    })
    .prefault({}),
});

/** A token belongs to an account or to a client: each version of the interface accepts the tokens of one of the two. */
const schema = fields.superRefine(({ accounts, clients }, context) => {
  const tree = new AccountTree(accounts);
  for (const [index, { id }] of clients.entries()) {
    if (!tree.has(id)) continue;
    const message = `${id} is also the id of an account; choose another one`;
    context.addIssue({ code: 'custom', path: ['clients', index, 'id'], message });
  }
});

/** The options of a simulator; each has a default. All times are in ms. */
export type SimulatorOptions = z.input<typeof schema>;

/** The options with every default filled in. */
export type Settings = z.output<typeof schema>;

/** One entry of `keys` with its defaults filled in. */
export type KeySettings = Settings['keys'][number];
/** One entry of `accounts` with its defaults filled in. */
export type AccountSettings = Settings['accounts'][number];

/** Invalid options. The message has one line per problem, which names the option. */
export class SimulatorOptionsError extends Error {
  override readonly name = 'SimulatorOptionsError';
  readonly code = 'SIMULATOR_OPTIONS';
}

/** Validates the options and fills in the defaults. Throws a `SimulatorOptionsError` that lists every problem. */
export function parseOptions(options: unknown): Settings {
  const parsed = schema.safeParse(options);
  if (parsed.success) return parsed.data;
  const lines = parsed.error.issues.map(({ path, message }) => `${optionName(path)}: ${message}`);
  throw new SimulatorOptionsError(`simulator options:\n  ${lines.join('\n  ')}`);
}

/**
 * The options after a change at run time: the three tables of probabilities, `tokens`, `resultCode`, `inbound`,
 * `notifications`, and `records` are merged; everything else is replaced. `host`, `port`, `seed`, and `controlToken` cannot be changed.
 */
export function mergeOptions(options: SimulatorOptions, change: SimulatorOptions): SimulatorOptions {
  for (const fixed of ['host', 'port', 'seed', 'controlToken'] as const) {
    if (fixed in change)
      throw new SimulatorOptionsError(`simulator options:\n  ${fixed}: cannot be changed at run time`);
  }
  return {
    ...options,
    ...change,
    faults: { ...options.faults, ...change.faults },
    pollFaults: { ...options.pollFaults, ...change.pollFaults },
    accountFaults: { ...options.accountFaults, ...change.accountFaults },
    tokens: { ...options.tokens, ...change.tokens },
    resultCode: { ...options.resultCode, ...change.resultCode },
    inbound: { ...options.inbound, ...change.inbound },
    notifications: { ...options.notifications, ...change.notifications },
    records: { ...options.records, ...change.records },
  };
}

function defaultsOf(fields: typeof quotaFields): z.output<z.ZodObject<typeof quotaFields>> {
  return z.object(fields).parse({});
}

function optionName(path: readonly PropertyKey[]): string {
  const name = path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('');
  return name.replace(/^\./, '') || 'options';
}
