import { grouped } from '../../base/counted.js';
import type { Redis } from '../../base/redis/connection.js';
import type { Keys, LaneId } from '../../base/redis/keys.js';
import { InputError, SentMeanwhileError } from '../../campaign/errors/errors.js';
import { subscriberOf } from '../../campaign/numbers/number-forms.js';
import { campaignIdTime } from '../../campaign/states/campaign.js';
import { NOT_SENT_STATES, RECIPIENT_STATES, type RecipientState } from '../../campaign/states/recipient.js';
import type { SentBefore } from '../../campaign/views/preview-views.js';
import type { LaneFinder } from '../../engine/lane/lane-finder.js';
import { orNull } from '../../engine/recipients/damaged.js';
import { type CampaignMeta, contentsOf, readMeta } from '../../engine/store/campaign-meta.js';
import { listCampaigns, readState, type StoredState } from '../../engine/store/campaigns.js';
import { inBatches } from '../../reporting/in-batches.js';
import { recipientReader } from '../../reporting/recipient-reader.js';
import type { CampaignInput, CheckedCampaign } from './campaign-input.js';
import { comparingKey } from './import-session.js';
import type { CheckedRow, CheckedRows } from './rows/check-rows.js';
import { SeenRecipients } from './rows/seen-recipients.js';

/*
 * Which numbers of a list get its text from an earlier campaign: someone corrects a few rows of a list and sends the whole list again. Texts
 * are compared with their placeholders, because a corrected name makes no other message of it.
 *
 * Nothing is stored for this: an index of texts and numbers would take more memory than everything else that is stored of a recipient. The
 * numbers of the earlier campaigns are read from their slices, 64 at a time, so that a lane that sends waits at most a millisecond for each
 * read. They take at most 23 bytes each, and the list itself is still read row by row. Limits bound the time and the memory. Beyond them,
 * nothing is compared: part of an answer would look like all of it.
 *
 * A list takes time to read, and a person takes time to answer, so it is compared once more. If those who get the text are left out, the import
 * reserves the text (idempotency.ts) before it compares, and while it compares at its commit, no campaign of this text is committed on a compared
 * lane: what it finds then refuses it. If they are only counted, Volley asks again.
 *
 * Messages of outboxes are not compared. They have their own ids, against which their producer repeats them safely, and the same text, such
 * as a reminder, is meant to reach the same number again.
 */

/** What is compared at most. */
interface Limits {
  /** Campaigns with the text. */
  readonly campaigns: number;
  /** Their recipients together. */
  readonly recipients: number;
  /** Campaigns whose text is read, newest first: a platform may create very many. */
  readonly texts: number;
}

const LIMITS: Limits = { campaigns: 20, recipients: 1_000_000, texts: 10_000 };
const RECENT_MS = 24 * 60 * 60 * 1000;
const READ_AT_ONCE = 200;
/** Rows that the preview lists. */
const MAX_ROWS = 20;

/** A message that was sent or may have been, or that is still to be sent. */
const COUNTS: readonly RecipientState[] = RECIPIENT_STATES.filter(
  (state) => !NOT_SENT_STATES.includes(state),
);

const isCountedState = (state: RecipientState): boolean => COUNTS.includes(state);

/** The text that is compared, on which lanes. */
type ComparedText = Pick<CheckedCampaign, 'message' | 'sender' | 'comparedLanes'>;

/** What finding them depends on. */
interface SentBeforeDeps {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly finder: Pick<LaneFinder, 'configured'>;
}

/** A campaign with the text of the list. */
type EarlierCampaign = Omit<SentBefore['campaigns'][number], 'recipientCount'>;

/** The numbers that get a text from earlier campaigns. */
export interface EarlierNumbers {
  /** Why they were not compared; null if they were. */
  readonly unchecked: string | null;
  /** Newest first. */
  readonly campaigns: readonly EarlierCampaign[];
  /** The place among `campaigns` of the newest one that sends the text to a number; null if none does. */
  placeOf(number: string): number | null;
}

/** Earlier campaigns that were not compared, and why. */
export const uncheckedNumbers = (unchecked: string): EarlierNumbers => ({
  unchecked,
  campaigns: [],
  placeOf: () => null,
});

/**
 * Reads the numbers that get a text from a campaign of the last 24 hours on a configured lane: one that was started since then, or that still
 * has messages to send. `now`: ms since the epoch.
 */
export async function earlierNumbers(
  deps: SentBeforeDeps,
  text: ComparedText,
  now: number,
  limits: Limits = LIMITS,
): Promise<EarlierNumbers> {
  const found = await campaignsWith(deps, text, now - RECENT_MS, limits);
  if (typeof found === 'string') return uncheckedNumbers(found);
  const numbers = new SeenRecipients({ hasDigests: false });
  for (const [place, campaign] of found.entries())
    for await (const some of subscribersOf(deps, campaign))
      for (const subscriber of some) numbers.add(subscriber, place, 0);
  return {
    unchecked: null,
    campaigns: found.map(({ shown }) => shown),
    placeOf: (number) => numbers.lineOf(subscriberOf(number)),
  };
}

/** The campaigns that were created since a list was compared and send its text to its recipients, newest first; and to how many. */
type SentSince = Pick<SentBefore, 'campaigns' | 'recipientCount'>;

/**
 * Compares a list that has been read once more. Null if no campaign that was created since sends the text to a recipient of it. Throws an
 * InputError if there are too many to compare.
 */
export async function sentSince(
  deps: SentBeforeDeps,
  text: ComparedText,
  now: number,
  earlier: EarlierNumbers,
  list: Pick<CheckedRows, 'has'>,
): Promise<SentSince | null> {
  const found = await campaignsWith(deps, text, now - RECENT_MS, LIMITS);
  if (typeof found === 'string') throw notKnown(found);
  const known = new Set(earlier.campaigns.map(({ id }) => id));
  const numbers = new SeenRecipients({ hasDigests: false });
  const campaigns: SentBefore['campaigns'][number][] = [];
  for (const campaign of found.filter(({ shown }) => !known.has(shown.id))) {
    const before = numbers.size;
    for await (const some of subscribersOf(deps, campaign))
      for (const subscriber of some)
        if (list.has(subscriber) && earlier.placeOf(subscriber) === null) numbers.add(subscriber, 0, 0);
    const recipientCount = numbers.size - before;
    if (recipientCount > 0) campaigns.push({ ...campaign.shown, recipientCount });
  }
  return campaigns.length === 0 ? null : { campaigns, recipientCount: numbers.size };
}

/** The numbers to which a campaign sends its text, some at a time, in the form by which they are compared. */
async function* subscribersOf(
  { redis, keys }: SentBeforeDeps,
  { lane, shown }: FoundCampaign,
): AsyncGenerator<string[]> {
  for await (const some of recipientReader(redis, keys, lane, shown.id).numbers(isCountedState))
    yield some.map((number) => subscriberOf(`+${number}`));
}

/** How long an import may keep others of its text from being committed, ms: much longer than the comparison takes. */
const COMPARING_MS = 60_000;

/**
 * Keeps campaigns with the text of an import from being committed on every lane that is compared. Its own commit checks the key of its own lane,
 * which expires first. Repeating it is harmless. Returns what ends it.
 */
export async function keepOthersOut(
  { redis, keys, finder }: SentBeforeDeps,
  meta: Pick<CampaignMeta, 'id' | 'lane' | 'text' | 'sender'>,
  { comparedLanes }: Pick<ComparedText, 'comparedLanes'>,
): Promise<() => Promise<void>> {
  const lanes = new Set([meta.lane, ...(await comparedOf(finder, comparedLanes))]);
  const all = [...lanes].map((lane) => comparingKey(keys, lane, meta));
  for (const key of all) await redis.set(key, meta.id, 'PX', COMPARING_MS);
  return async () => {
    for (const key of all) await redis.del(key);
  };
}

export function sentMeanwhile({ campaigns, recipientCount }: SentSince): SentMeanwhileError {
  const campaign = campaigns[0]?.id ?? '';
  const others = campaigns.length > 1 ? ` and ${campaigns.length - 1} more` : '';
  return new SentMeanwhileError(
    `campaign ${campaign}${others}, created while the list was read, already sends this text to ${grouped(recipientCount)} of its recipients: send the list again`,
    campaign,
  );
}

/** What a preview says, with the campaigns that were created since. */
export const withSince = (seen: SentBefore, since: SentSince): SentBefore => ({
  ...seen,
  recipientCount: seen.recipientCount + since.recipientCount,
  campaigns: [...since.campaigns, ...seen.campaigns],
});

const notKnown = (unchecked: string): InputError =>
  new InputError(`it is not known who gets this text already: ${unchecked}`, { field: 'sentBefore' });

const comparedOf = async (
  finder: SentBeforeDeps['finder'],
  lanes: ComparedText['comparedLanes'],
): Promise<LaneId[]> =>
  [...(await finder.configured())].flatMap(([name, { id }]) => ((lanes?.includes(name) ?? true) ? [id] : []));

/** A campaign that sends the text, and its recipients at most. */
interface FoundCampaign {
  readonly lane: LaneId;
  readonly shown: EarlierCampaign;
  readonly recipients: number;
}

/** The campaigns that send this text, newest first; a text if there are too many to compare. `since`: ms since the epoch. */
async function campaignsWith(
  { redis, keys, finder }: SentBeforeDeps,
  { message, sender, comparedLanes }: ComparedText,
  since: number,
  limits: Limits,
): Promise<FoundCampaign[] | string> {
  const lanes = new Set(await comparedOf(finder, comparedLanes));
  const read = async ({ id, lane }: { id: string; lane: string }) => {
    const meta = lanes.has(lane) ? await orNull(readMeta(redis, keys, lane, id)) : null;
    const isSame = (each: Pick<CampaignMeta, 'text' | 'sender'>) =>
      each.text === message && each.sender === sender;
    if (meta === null || !contentsOf(meta).some(isSame)) return { id, campaign: null };
    const state = await orNull(readState(redis, keys, lane, id));
    if (state === null || !isCompared(state, since)) return { id, campaign: null };
    const { name, created, invalid } = meta;
    const shown = { id, name, createdAt: new Date(created).toISOString(), invalid };
    return { id, campaign: { lane, shown, recipients: state.ordinals } };
  };
  const found: FoundCampaign[] = [];
  let [texts, recipients] = [0, 0];
  for await (const { id, campaign } of inBatches(listCampaigns(redis, keys), READ_AT_ONCE, read)) {
    texts += 1;
    // Older campaigns are read as far as the limit allows: one may have been scheduled days ago.
    if (texts > limits.texts && id < campaignIdTime(since)) break;
    if (texts > limits.texts)
      return `there are more than ${grouped(limits.texts)} campaigns of the last 24 hours`;
    if (campaign === null) continue;
    found.push(campaign);
    recipients += campaign.recipients;
    if (found.length > limits.campaigns)
      return `more than ${limits.campaigns} campaigns of the last 24 hours have this text and sender`;
    if (recipients > limits.recipients)
      return `the campaigns of the last 24 hours with this text and sender have more than ${grouped(limits.recipients)} recipients`;
  }
  return found;
}

/** Whether a campaign has messages that count, and is recent. One that is being imported has no messages yet. */
function isCompared({ outbox, launchAt, counts }: StoredState, since: number): boolean {
  const isRecent = launchAt >= since || (counts.planned ?? 0) + (counts.sending ?? 0) > 0;
  const isCounted = COUNTS.some((one) => (counts[one] ?? 0) > 0);
  return outbox === undefined && isRecent && isCounted;
}

/** Compares the recipients of a list with earlier campaigns while the list is read. */
export type SentComparison = ReturnType<typeof compareSent>;

/**
 * See {@link SentComparison}. Throws an InputError if recipients that get the text already are to be left out, and it is not known which
 * these are.
 */
export function compareSent(earlier: EarlierNumbers, how: NonNullable<CampaignInput['sentBefore']>) {
  const { unchecked, campaigns } = earlier;
  const isLeftOut = how === 'leaveOut';
  if (isLeftOut && unchecked !== null) throw notKnown(unchecked);
  const counts = campaigns.map(() => 0);
  const rows: SentBefore['rows'][number][] = [];
  let recipients = 0;
  const isSentBefore = ({ line, number }: { readonly line: number; readonly number: string }): boolean => {
    const place = earlier.placeOf(number);
    if (place === null) return false;
    recipients += 1;
    counts[place] = (counts[place] ?? 0) + 1;
    if (rows.length < MAX_ROWS) rows.push({ line, to: number, campaign: campaigns[place]?.id ?? '' });
    return true;
  };
  return {
    earlier,
    /** How many recipients are left out. */
    leftOut: () => (isLeftOut ? recipients : 0),
    /** Makes a duplicate of a recipient who is left out; other rows stay as they are. */
    sift(row: CheckedRow): CheckedRow {
      if (!isLeftOut || row.kind !== 'recipient' || !isSentBefore(row)) return row;
      const { line, number, reference } = row;
      return { kind: 'duplicate', line, number, firstLine: null, isSameText: true, reference };
    },
    /** Sees a recipient who gets a message. */
    see(row: Extract<CheckedRow, { kind: 'recipient' }>): void {
      isSentBefore(row);
    },
    result: (): SentBefore => ({
      unchecked,
      recipientCount: recipients,
      isLeftOut,
      campaigns: campaigns.flatMap((campaign, place) => {
        const own = counts[place] ?? 0;
        return own === 0 ? [] : [{ ...campaign, recipientCount: own }];
      }),
      rows,
    }),
  };
}
