import { z } from 'zod';
import { distributionSchema } from './distribution.js';
import { ACCOUNT_FAULTS, POLL_FAULTS, probabilitiesSchema, SEND_FAULTS } from './faults.js';
import { NOTIFICATION_SHAPES, TOKEN_PLACES } from './notification-faults.js';
import { QUOTA_MODELS } from './quota-models.js';

const wholeMs = z.int().min(1);

const quotaFields = {
  /** Requests a window; null = unlimited. */
  quota: z.int().min(0).max(10_000_000).nullable().default(null),
  model: z.enum(QUOTA_MODELS).default('sliding'),
  windowMs: wholeMs.default(3_600_000),
  /** The service knows the key but does not let it be used: 403. */
  forbidden: z.boolean().default(false),
};

/** One quota: that of an API key, or that of an account, whose access tokens are accepted in place of a key. */
const keySchema = z.union(
  [
    z.strictObject({ key: z.string().min(1), ...quotaFields }),
    z.strictObject({ account: z.string().min(1), ...quotaFields }),
  ],
  {
    error:
      'must be { key or account, quota, model, windowMs, forbidden }, quota a whole number or null, model one of ' +
      QUOTA_MODELS.join(', '),
  },
);

const accountSchema = z.strictObject({
  username: z.string().min(1),
  password: z.string().min(1),
  /** The account a login without `targetAccountId` is for; default: the username. */
  accountId: z.string().min(1).optional(),
  reseller: z.boolean().default(false),
  /** Child accounts a reseller may log in for. */
  targetAccountIds: z.array(z.string().min(1)).default([]),
});

const tokensSchema = z.strictObject({
  accessLifetimeMs: wholeMs.default(15 * 60_000),
  refreshLifetimeMs: wholeMs.default(30 * 24 * 3_600_000),
  /** Whether the tokens say when they expire; without it they expire all the same. */
  withExp: z.boolean().default(true),
  /** Failed logins, added up and never forgiven by a success, after which the account is blocked; null = never. */
  lockoutAfter: z.int().min(1).nullable().default(5),
});

/** Where a result code of area B stands in a reply: the interface page does not show it. */
const resultCodeSchema = z.strictObject({
  placement: z.enum(['resultCode', 'error.code', 'message']).default('resultCode'),
  status: z.union([z.literal(200), z.literal(400), z.literal(401)]).default(401),
});

const schema = z.strictObject({
  host: z.string().min(1).default('127.0.0.1'),
  port: z.int().min(0).max(65_535).default(0),
  /** Everything left to chance is drawn from one generator with this seed. */
  seed: z.int().min(0).max(0xffff_ffff).default(1),

  keys: z.array(keySchema).default([{ key: 'simulator-key', ...defaultsOf(quotaFields) }]),
  accounts: z.array(accountSchema).default([]),
  tokens: tokensSchema.prefault({}),
  resultCode: resultCodeSchema.prefault({}),

  /** From a request's arrival to its reply. */
  latency: distributionSchema.prefault(0),
  /** From the last byte of a request to its arrival, when it is counted and served: the delay of the network. */
  arrivalDelay: distributionSchema.prefault(0),
  /** Keeps of every send what it would have sent, and of every poll what it asked about: some 200 bytes a request. */
  wholeArrivals: z.boolean().default(false),
  /** From acceptance to the final status. */
  deliveryTime: distributionSchema.prefault(1_000),
  /** The share of ordinary recipients that end in DeliveryImpossible. */
  impossible: z.number().min(0).max(1).default(0),

  faults: probabilitiesSchema(SEND_FAULTS),
  pollFaults: probabilitiesSchema(POLL_FAULTS),
  accountFaults: probabilitiesSchema(ACCOUNT_FAULTS),
  /** `first`: an ending that is a fault strikes the first request with that number; `always`: each; `off`: no magic. */
  magicRecipients: z.enum(['first', 'always', 'off']).default('first'),

  /** Retry-After of a 429 that the quota caused: the time until a request would be admitted, or nothing. */
  quotaRetryAfter: z.enum(['none', 'seconds', 'date']).default('none'),
  /** Retry-After of a 429 that a fault or a magic recipient caused. */
  faultRetryAfterSeconds: z.int().min(0).default(2),

  /** The most addresses of one request; more is answered 400. null = no limit. */
  maxRecipients: z.int().min(1).nullable().default(null),
  /** Whether a send reply has its request id in the Location header, in the body, in both or in neither. */
  requestIdIn: z.enum(['both', 'location', 'body', 'none']).default('both'),
  /** Scheme and host of resourceURLs. Not this server's on purpose: no client may follow them. */
  resourceHost: z
    .string()
    .regex(/^https?:\/\/[^/]+$/)
    .default('https://messaging.example'),
  /** A repeated clientCorrelator returns the first reply and sends nothing again. */
  deduplicates: z.boolean().default(false),

  notifications: z
    .strictObject({
      /** `mixed`: each in another place, by chance. */
      securityTokenIn: z.enum([...TOKEN_PLACES, 'none', 'mixed']).default('header'),
      shape: z.enum([...NOTIFICATION_SHAPES, 'mixed']).default('list'),
      /** From the change of state to its notification. */
      delay: distributionSchema.prefault(0),
      /** Half of the DeliveredToNetwork notifications come after DeliveredToTerminal. */
      shuffle: z.boolean().default(false),
      /** The share of notifications that never arrive, and of those that do the share that arrives twice. */
      loss: z.number().min(0).max(1).default(0),
      duplicates: z.number().min(0).max(1).default(0),
      /** The share of notifications before which a forged one comes: the other final status, without the right token. */
      forged: z.number().min(0).max(1).default(0),
    })
    .prefault({}),
});

/** What a simulator may be told; everything has a default. All times in ms. */
export type SimulatorOptions = z.input<typeof schema>;

/** The options with every default filled in. */
export type Settings = z.output<typeof schema>;

/** One quota, with its defaults filled in. */
export type KeySettings = Settings['keys'][number];
/** One account, with its defaults filled in. */
export type AccountSettings = Settings['accounts'][number];

/** Options that cannot be used; the message has one line for each fault, naming the option. */
export class SimulatorOptionsError extends Error {
  override readonly name = 'SimulatorOptionsError';
  readonly code = 'SIMULATOR_OPTIONS';
}

/** Fills in the defaults. Throws a `SimulatorOptionsError` that lists every fault at once. */
export function parseOptions(options: unknown): Settings {
  const parsed = schema.safeParse(options);
  if (parsed.success) return parsed.data;
  const lines = parsed.error.issues.map(({ path, message }) => `${optionName(path)}: ${message}`);
  throw new SimulatorOptionsError(`simulator options:\n  ${lines.join('\n  ')}`);
}

/**
 * The options after a change at run time: the three tables of probabilities, `tokens`, `resultCode` and
 * `notifications` are merged, anything else is replaced. `host`, `port` and `seed` are fixed at the start.
 */
export function mergeOptions(options: SimulatorOptions, change: SimulatorOptions): SimulatorOptions {
  for (const fixed of ['host', 'port', 'seed'] as const) {
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
    notifications: { ...options.notifications, ...change.notifications },
  };
}

function defaultsOf(fields: typeof quotaFields): z.output<z.ZodObject<typeof quotaFields>> {
  return z.object(fields).parse({});
}

function optionName(path: readonly PropertyKey[]): string {
  const name = path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('');
  return name.replace(/^\./, '') || 'options';
}
