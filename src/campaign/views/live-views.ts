import { z } from 'zod';
import { count, KEPT_FOR_POLLS, permitCount, textOrNull, time } from './measures.js';
import { campaignStatus, laneStatus, recipientCounts } from './views.js';

/*
 * What the console shows while it happens: why something waits, the ledger of a lane, and the items of the live stream.
 */

/** Why a campaign or a lane does what it does; each is one sentence in reporting/waiting.ts. */
export const WAITING_CODES = [
  'importing',
  'scheduled',
  'sending',
  'quota',
  'window',
  'backingOff',
  'probing',
  'recovering',
  'noToken',
  'held',
  'stopped',
  'failing',
  'paused',
  'unknown',
  'workers',
  'unserved',
  'reports',
  'finishing',
  'completed',
  'cancelled',
] as const;

const remedy = z
  .object({ operation: z.string(), path: z.string().describe('Such as `/v1/lanes/main/resume`') })
  .readonly();

const words = z
  .object({
    text: z.string().describe('One sentence for people, without its times'),
    since: time.nullable().describe('When it began; null if that is not known, or says nothing'),
    until: time.nullable().describe('When it ends by itself; null if that is not known, or it does not'),
    next: z
      .enum(['starts', 'continues', 'opens', 'tries again'])
      .nullable()
      .describe('What happens at `until`'),
    advice: textOrNull.describe('A sentence that says what to do'),
    details: textOrNull.describe('What the service, or an error, says about it'),
  })
  .readonly();
/** A sentence, and what belongs to it. */
export type WaitingWords = z.output<typeof words>;

/** Why something waits, until when, and what can be done about it. */
export const waiting = z
  .object({
    code: z.enum(WAITING_CODES),
    ...words.unwrap().shape,
    lane: textOrNull,
    remedy: remedy.nullable().describe('The operation that ends it; null if there is none'),
    tone: z.enum(['normal', 'good', 'warning', 'bad']),
  })
  .readonly()
  .meta({ id: 'Waiting' });
/** See {@link waiting}. */
export type Waiting = z.output<typeof waiting>;

/** The limiter's own ledger of a lane. */
export const ledger = z
  .object({
    lane: z.string(),
    at: time,
    span: z.string().describe('The length of the window, such as `1h`'),
    width: z.string().describe('The length of a bucket'),
    guard: z.string().describe('For how long a request without an answer counts longer than others'),
    buckets: z
      .array(z.object({ at: time.describe('When it begins'), sends: count, polls: count }).readonly())
      .readonly()
      .describe('Those with requests, the oldest first. Each leaves one window after its end'),
    used: z.object({ send: permitCount, poll: permitCount }).readonly().describe('The sum of the buckets'),
    limit: permitCount.nullable().describe('The current limit after deductions; null while unknown'),
    inFlight: count.describe('Requests without an answer yet. They count as well'),
    pollReserve: permitCount.describe(KEPT_FOR_POLLS),
    permits: z
      .array(z.object({ at: time, count }).readonly())
      .readonly()
      .describe('When the quota has room again for the requests of each bucket'),
    throttledAt: z.array(time).readonly().describe('When the lane backed off after a 429 within the window'),
  })
  .readonly()
  .meta({ id: 'Ledger' });
/** See {@link ledger}. */
export type Ledger = z.output<typeof ledger>;

/** The counts of a campaign at a time. */
export const progressSample = z
  .object({ at: time, counts: recipientCounts })
  .readonly()
  .meta({ id: 'ProgressSample' });
/** See {@link progressSample}. */
export type ProgressSample = z.output<typeof progressSample>;

/** A campaign in the live stream. */
export const liveCampaign = z
  .object({
    status: campaignStatus,
    waiting,
    sendsPerMinute: z
      .number()
      .nullable()
      .describe('Recipients, over the last minute; null before it is known'),
  })
  .readonly()
  .meta({ id: 'LiveCampaign' });
/** See {@link liveCampaign}. */
export type LiveCampaign = z.output<typeof liveCampaign>;

/** A lane in the live stream. */
export const liveLane = z
  .object({
    status: laneStatus,
    host: textOrNull.describe('Of the service; null if this process does not know it'),
    simulator: z.boolean(),
    waiting: waiting.nullable().describe('Null while nothing keeps its requests from starting'),
    perMinute: z.array(count).readonly().describe('Sends in each of the last five minutes, the oldest first'),
  })
  .readonly()
  .meta({ id: 'LiveLane' });
/** See {@link liveLane}. */
export type LiveLane = z.output<typeof liveLane>;

/** What a person should look at. */
export const attention = z
  .object({
    code: z.string(),
    ...words.unwrap().shape,
    lane: textOrNull,
    campaign: textOrNull,
    name: textOrNull.describe('Of the campaign, outbox, schedule, or webhook'),
    remedy: remedy.nullable(),
  })
  .readonly()
  .meta({ id: 'Attention' });
/** See {@link attention}. */
export type Attention = z.output<typeof attention>;

const counts = z.record(z.string(), count).readonly();

/** What there is to see. */
export const overview = z
  .object({
    attention: z.array(attention).readonly(),
    running: z.array(z.string()).readonly().describe('The ids of the newest running campaigns, newest first'),
    scheduled: z
      .array(z.string())
      .readonly()
      .describe('The ids of campaigns that start within a week, the soonest first'),
    ended: z
      .array(z.string())
      .readonly()
      .describe('The ids of campaigns that ended within a day, newest first'),
    lanes: z.array(z.string()).readonly(),
    counts: z.object({ campaigns: counts, recipients: counts }).readonly().describe('By state'),
  })
  .readonly()
  .meta({ id: 'Overview' });
/** See {@link overview}. */
export type Overview = z.output<typeof overview>;

/** The data of each item of the live stream besides events, by its name. */
export const LIVE_ITEMS = {
  tick: z
    .object({ at: time, redis: z.enum(['ok', 'unavailable']) })
    .readonly()
    .meta({ id: 'Tick' }),
  overview,
  campaign: liveCampaign,
  lane: liveLane,
  ledger,
  gone: z.object({ campaign: z.string() }).readonly().meta({ id: 'Gone' }),
} as const;
/** The data of each item, by its name. */
export type LiveData = { [Name in keyof typeof LIVE_ITEMS]: z.output<(typeof LIVE_ITEMS)[Name]> };
/** An item of the live stream. */
export type LiveItem = {
  [Name in keyof LiveData]: { readonly type: Name; readonly data: LiveData[Name] };
}[keyof LiveData];
