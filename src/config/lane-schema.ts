import { z } from 'zod';
import { parseDuration } from '../duration.js';
import type { UnknownOutcome } from './lane.js';
import { hourlyQuota, maxRecipientsPerRequest } from './limits.js';

const text = z.string('must be a text').min(1, 'must not be empty');

/** An account that logs in for a token; each part is given as it is or as the name of a variable. */
export const ACCOUNT = z.strictObject(
  {
    username: text.optional(),
    usernameEnv: text.optional(),
    password: text.optional(),
    passwordEnv: text.optional(),
    targetAccountId: text.optional(),
  },
  'must be an object with username or usernameEnv, and password or passwordEnv',
);

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
  .transform((given, context): UnknownOutcome => {
    if (given === 'hold') return { action: 'hold' };
    const [, action, after = ''] = /^(abandon|resend) after (\S+)$/.exec(given) ?? [];
    const afterMs = parseDuration(after);
    if ((action === 'abandon' || action === 'resend') && afterMs !== undefined) return { action, afterMs };
    context.addIssue(UNKNOWN_OUTCOME);
    return z.NEVER;
  });

const NAME = 'must be up to 40 letters, digits and _ . -, beginning with a letter or digit';
const POLL_SHARE = 'must be a share from 0 to 0.9, such as 0.2';

/** One lane of a lanes file, each field checked by itself; credentials are resolved apart. */
export const LANE = z.strictObject(
  {
    name: z.string(NAME).regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,39}$/, NAME),
    apiKey: text.regex(/^[\x21-\x7e]+$/, 'must be printable letters without spaces').optional(),
    apiKeyEnv: text.optional(),
    account: ACCOUNT.optional(),
    hourlyQuota: hourlyQuota.optional(),
    pollShare: z.number(POLL_SHARE).min(0, POLL_SHARE).max(0.9, POLL_SHARE).optional(),
    pacing: z.enum(['burst', 'smooth'], 'must be "burst" or "smooth"').optional(),
    maxRecipientsPerRequest: maxRecipientsPerRequest.optional(),
    unknownOutcome: unknownOutcome.optional(),
    clientCorrelator: z
      .enum(['off', 'send', 'deduplicates'], 'must be "off", "send" or "deduplicates"')
      .optional(),
  },
  'must be an object with a name and credentials',
);

/** Only what the credentials of a lane come from, so that they can be judged when other fields are at fault. */
export const SOURCES = z.object(LANE.pick({ apiKey: true, apiKeyEnv: true, account: true }).shape);
