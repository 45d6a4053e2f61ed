import { z } from 'zod';
import { readWindow } from '../../campaign/estimate/window.js';
import { type LaneLimits, laneLimits } from '../../campaign/limits/limits.js';
import { parseDuration } from '../duration.js';
import { PROFILES, type ProfileName } from '../profiles/index.js';
import { CREDENTIAL_SOURCES, type Credentials } from './credentials.js';
import { baseUrl, oneOf } from './formats.js';

/** The largest hourly quota: as many requests as a single process can send for a lane. */
export const MAX_HOURLY_QUOTA = 10_000_000;

/** The most recipients in one request. A response for more of them would take megabytes. */
export const MAX_RECIPIENTS_PER_REQUEST = 1_000;

/** What happens to the recipients of a request with an unknown outcome. */
type UnknownOutcome =
  /** They wait for the operator's `resolve`. */
  | { action: 'hold' }
  /** `afterMs` milliseconds after the request, they are abandoned, or sent again at the risk of a second message. */
  | { action: 'abandon' | 'resend'; afterMs: number };

const UNKNOWN_OUTCOME =
  'must be "hold", "abandon after 24h" or "resend after 24h", with a duration such as 90m, 24h or 3d';

const unknownOutcome = z
  .union(
    [
      z.string(),
      z
        .strictObject({ action: z.string(), after: z.string().optional() })
        .transform(({ action, after }) => (after === undefined ? action : `${action} after ${after}`)),
    ],
    UNKNOWN_OUTCOME,
  )
  .transform((text, context): UnknownOutcome => {
    if (text === 'hold') return { action: 'hold' };
    const [, action, after = ''] = /^(abandon|resend) after (\S+)$/.exec(text) ?? [];
    const afterMs = parseDuration(after);
    if ((action === 'abandon' || action === 'resend') && afterMs !== undefined) return { action, afterMs };
    context.addIssue(UNKNOWN_OUTCOME);
    return z.NEVER;
  });

/**
 * Whether requests carry a `clientCorrelator` (the interface page does not show whether they may), and for how long the service is
 * known to answer a repeated one without sending again.
 */
export type ClientCorrelator = 'off' | 'send' | { deduplicatesForMs: number };

const CLIENT_CORRELATOR =
  'must be "off", "send" or "deduplicates: 24h", with the time for which the service remembers a correlator';

const clientCorrelator = z
  .union(
    [
      z.string(),
      z
        .strictObject({ deduplicates: z.string() })
        .transform(({ deduplicates }) => `deduplicates: ${deduplicates}`),
    ],
    CLIENT_CORRELATOR,
  )
  .transform((text, context): ClientCorrelator => {
    if (text === 'off' || text === 'send') return text;
    const [, lifetime = ''] = /^deduplicates: ?(\S+)$/.exec(text) ?? [];
    const deduplicatesForMs = parseDuration(lifetime);
    if (deduplicatesForMs !== undefined) return { deduplicatesForMs };
    context.addIssue(
      text === 'deduplicates'
        ? 'must say for how long the service remembers a correlator, such as "deduplicates: 24h"'
        : CLIENT_CORRELATOR,
    );
    return z.NEVER;
  });

const number = (min: number, max: number, message: string) =>
  z.number(message).min(min, message).max(max, message);
const NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,39}$/;
const NAME_RULE = 'must be up to 40 letters, digits and _ . -, starting with a letter or digit';
const QUOTA = `must be a whole number of requests an hour from 1 to ${MAX_HOURLY_QUOTA}, or "auto"`;
const RECIPIENTS = `must be a whole number from 1 to ${MAX_RECIPIENTS_PER_REQUEST}`;

/** What a lane's name must be, if this text is not one; otherwise null. */
export function laneNameProblem(name: string): string | null {
  return NAME.test(name) ? null : NAME_RULE;
}

const WINDOW =
  'must be an object such as {"hours": "Mon-Sat 09:00-20:00", "except": ["2030-05-01"]}; `except` may be missing';
const DATES = 'must be a list of dates such as ["2030-05-01"]';

const PROFILE_NAMES = ['v1', 'v3'] as const satisfies readonly ProfileName[];

/** The schema of a lane. `hourlyQuota` and `maxRecipientsPerRequest` apply to lanes that do not set their own. */
export const laneSchema = (hourlyQuota: number | 'auto', maxRecipientsPerRequest: number) =>
  z.strictObject(
    {
      /** Unique; letters, digits and `_ . -`. */
      name: z.string(NAME_RULE).regex(NAME, NAME_RULE),
      /** The version of the service that it uses (profiles/). */
      profile: oneOf(...PROFILE_NAMES).default('v1'),
      /** Of its messaging service, if it is not that of `MESSAGING_BASE_URL`. */
      baseUrl: baseUrl('/outbound', 'https://host.example/smsmessaging/v1').optional(),
      ...CREDENTIAL_SOURCES.shape,
      /** Requests per quota window, sends and polls together, or `auto`: learned from the service's 429 responses. */
      hourlyQuota: z
        .union([z.literal('auto'), number(1, MAX_HOURLY_QUOTA, QUOTA).int(QUOTA)], QUOTA)
        .default(hourlyQuota),
      /** Largest share of the quota to reserve for polls. */
      pollShare: number(0, 0.9, 'must be a share from 0 to 0.9, such as 0.2').default(0.2),
      /** `burst` uses permits as soon as they are available; `smooth` spreads them over the window. */
      pacing: oneOf('burst', 'smooth').default('burst'),
      /** Recipients per send request. */
      maxRecipientsPerRequest: number(1, MAX_RECIPIENTS_PER_REQUEST, RECIPIENTS)
        .int(RECIPIENTS)
        .default(maxRecipientsPerRequest),
      unknownOutcome: unknownOutcome.default({ action: 'hold' }),
      clientCorrelator: clientCorrelator.optional(),
      /** When the lane may send: days and hours in the local time of `zone`, not on the dates of `except`. */
      window: z
        .strictObject({ hours: z.string(), except: z.array(z.string(), DATES).optional() }, WINDOW)
        .optional(),
      zone: z.string().optional(),
      /** What everyone may send on the lane (campaign/limits/limits.ts). */
      limits: laneLimits.optional(),
    },
    'must be an object with a name and credentials',
  );

/** How a lane behaves: all that commands need that do not call the service. */
export type LaneRules = Omit<
  z.output<ReturnType<typeof laneSchema>>,
  keyof typeof CREDENTIAL_SOURCES.shape | 'clientCorrelator' | 'window' | 'zone' | 'limits'
> & {
  readonly limits?: LaneLimits;
  readonly clientCorrelator: ClientCorrelator;
  /** The rule of its window (campaign/estimate/window.ts), if it has one. */
  readonly sendWindow?: string;
  /** The child organisation that the lane's account acts for, if it does. */
  readonly targetAccountId?: string;
  /** Of a lane that is stored in Redis, and not configured (engine/lane/stored-lanes.ts). */
  readonly stored?: StoredRevision;
};

/** Which version of a stored lane this is. */
export interface StoredRevision {
  /** Its id, which names its keys. */
  readonly id: string;
  /** Increases with every change of any stored lane. */
  readonly revision: number;
  /** Whether the lane is being removed: it sends nothing more, and waits for its last reports. */
  readonly isLeaving: boolean;
  /** Why no process with the SECRETS_KEY of this one can open its credentials; undefined if it can, or this one has none. */
  readonly problem?: string;
}

/** A window and its zone, as they were set. */
interface WindowSetting {
  readonly window?:
    | { readonly hours?: string | undefined; readonly except?: string[] | undefined }
    | undefined;
  readonly zone?: string | undefined;
}

/** Receives the part of a window that is invalid, and why. */
type ReportWindow = (part: 'hours' | 'zone' | 'except', reason: string) => void;

/** The rules of a lane, without its credentials. Its correlator is what its profile documents, or else its setting. */
export function laneRules(
  lane: Omit<z.output<ReturnType<typeof laneSchema>>, keyof WindowSetting> & WindowSetting,
  report: ReportWindow,
): LaneRules {
  const { apiKey: _key, apiKeyEnv: _variable, account, client: _client, ...keyless } = lane;
  const { authorization: _authorization, xAuthorization: _xAuthorization, ...rest } = keyless;
  const { window, zone, clientCorrelator, limits, ...settings } = rest;
  const documentedMs = PROFILES[settings.profile].correlatorLifetimeMs;
  return {
    ...settings,
    ...laneWindow({ window, zone }, report),
    ...(limits !== undefined && { limits }),
    clientCorrelator:
      documentedMs === null ? (clientCorrelator ?? 'off') : { deduplicatesForMs: documentedMs },
    ...(account?.targetAccountId !== undefined && { targetAccountId: account.targetAccountId }),
  };
}

/** The window of a lane. */
function laneWindow(
  { window: { hours, except } = {}, zone }: WindowSetting,
  report: ReportWindow,
): { readonly sendWindow?: string } {
  if (hours === undefined) {
    if (zone !== undefined) report('zone', 'belongs to a window, which is not set');
    if (except !== undefined) report('except', 'belongs to a window, which is not set');
    return {};
  }
  const read = readWindow({ hours, zone, except }, Date.now());
  if (read.ok) return { sendWindow: read.rule };
  report(read.field, `is not valid: ${read.reason}`);
  return {};
}

/** A lane with its credentials. */
export interface LaneSettings extends LaneRules {
  credentials: Credentials;
}
