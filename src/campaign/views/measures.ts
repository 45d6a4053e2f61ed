import { z } from 'zod';

/*
 * Times, counts, and costs, as every public form shows them.
 */

/** A time. */
export const time = z.string().describe('ISO 8601, UTC');
/** A text, or null where there is none. */
export const textOrNull = z.string().nullable();
/** How many of something. */
export const count = z.int().min(0);
/** What a put has done; `unchanged`: what is stored was as it asks. */
export const PUT_OUTCOMES = ['created', 'updated', 'unchanged'] as const;
/** See {@link PUT_OUTCOMES}. */
export const putOutcome = z.enum(PUT_OUTCOMES).describe('`unchanged`: it was stored like this already');
/** A number of permits. It need not be whole, because deductions from a quota fade over time. */
export const permitCount = z.number();

/** The earliest and the latest time of something, if no operator intervenes and the service responds. */
export interface TimeRange {
  readonly earliest: string;
  /** Null if nothing bounds it; `reason` says why. */
  readonly latest: string | null;
  /** Whether it follows from a quota that Volley has learned. */
  readonly isApproximate: boolean;
  readonly reason: string | null;
}

/** See {@link TimeRange}. */
export const timeRange = z
  .object({
    earliest: time,
    latest: time.nullable().describe('Null if nothing bounds it; `reason` says why'),
    isApproximate: z.boolean().describe('Whether it follows from a quota that Volley has learned'),
    reason: textOrNull.describe('Why `latest` is null'),
  })
  .readonly();
/** How much of a limit messages leave alone. */
export const KEPT_FOR_POLLS =
  'How much of the limit no message may take, because requests for delivery statuses (polls) are due';
/** What an `eta` is. */
export const ETA =
  'The earliest and the latest time at which the last message will be sent, computed from the quota, the requests for delivery statuses, other campaigns, and pauses';
/** What a `completion` is. */
export const COMPLETION =
  'The earliest and the latest time at which the last recipient will have a final status, bounded by the follow-up deadline';

/** An amount of money. */
export const money = z.string().describe('An exact amount of the currency, such as `47.04`');
/** The currency of amounts. */
export const currency = z.string().describe('ISO 4217, such as `EUR`');
/** How many recipients are not part of a cost. */
export const unpriced = count.describe(
  'Recipients whose number has no price; the amounts do not include them',
);

/** What a campaign costs, and has cost so far. */
export interface CampaignCost {
  /** If all messages are accepted; fixed when the campaign is created. An exact amount, such as `47.04`. */
  readonly total: string;
  /** Of the messages that the service has accepted so far; null if that is not known, and in lists where messages cost different amounts. */
  readonly accepted: string | null;
  /** ISO 4217, such as `EUR`. */
  readonly currency: string;
  /** Recipients whose number has no price. The amounts do not include them. */
  readonly unpriced: number;
}

/** See {@link CampaignCost}. */
export const campaignCost = z
  .object({
    total: money.describe('What the campaign costs if all messages are accepted; fixed when it is created'),
    accepted: money
      .nullable()
      .describe(
        'What the messages cost that the service has accepted so far. Null in lists where messages cost different amounts, and if it is not stored',
      ),
    currency,
    unpriced,
  })
  .readonly()
  .meta({ id: 'CampaignCost' });
/** Why there may be no cost of a campaign. */
export const CAMPAIGN_COST = 'Null if no prices were configured when the campaign was created';
