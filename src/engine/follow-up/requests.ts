import { type DeliveryStatus, STATUS_LETTER } from '../../campaign/states/recipient.js';
import type { PollOutcome } from '../../service/client/outcome.js';
import { statusesKey } from '../recipients/campaign-keys.js';
import type { DamagedError } from '../recipients/damaged.js';
import { readBatchMessage } from '../recipients/outbox-messages.js';
import { readRecord } from '../recipients/request-records.js';
import { placedWords, storedWord } from '../recipients/status-words.js';
import type { LaneStore } from '../scripts/lane-script.js';
import { type CampaignContent, orDamaged } from '../sending/campaign-content.js';
import { listUnknown } from '../sending/unknown.js';
import type { PollClaim } from './poll-claim.js';

/** A request that is polled. */
export interface FollowedRequest {
  readonly sender: string;
  readonly requestId: string;
  /** E.164, in the order of the batch. */
  readonly recipients: readonly string[];
  /** Set if a notification has matched this request to a batch with an unknown outcome. */
  readonly unknown?: MatchedBatch;
}

/** A batch with an unknown outcome that may be the polled request. */
export interface MatchedBatch {
  /** The number and the turn of its claim. */
  readonly number: number;
  readonly turn: string;
  /** For each recipient, whether the request included it. */
  readonly sent: readonly boolean[];
}

/** Finds the requests of claims. */
export interface FollowedRequests {
  /** Undefined for a request that no longer exists, because its campaign is being removed. A DamagedError for one that cannot be read. */
  find(claims: readonly PollClaim[]): Promise<(FollowedRequest | DamagedError | undefined)[]>;
}

/** Finds a lane's requests by the records of their batches. */
export function openRequests(lane: LaneStore, content: CampaignContent): FollowedRequests {
  const { redis, keys, id: laneId, rules } = lane;

  /** The request that a notification has matched to the batch with an unknown outcome that begins at `first`. */
  const matched = async (id: string, first: number) => {
    if (rules.notify !== true) return undefined;
    const unknown = (await listUnknown(lane)).find((batch) => batch.campaign === id && batch.first === first);
    if (unknown === undefined || unknown.matchedRequestId === null) return undefined;
    const end = first + unknown.count - 1;
    const letters =
      unknown.message === undefined ? await redis.getrange(statusesKey(keys, laneId, id), first, end) : 'U';
    const sent = Array.from({ length: unknown.count }, (_, at) => letters[at] === 'U');
    return {
      requestId: unknown.matchedRequestId,
      unknown: { number: unknown.number, turn: unknown.turn, sent },
    };
  };

  const recordOf = async (claim: PollClaim) => {
    if (claim.message === undefined) return readRecord(redis, keys, laneId, claim.campaign, claim.first);
    const message = await readBatchMessage(redis, keys, laneId, claim);
    return message && { count: 1, requestId: message.requestId, edition: message.edition };
  };

  const find = async (claim: PollClaim): Promise<FollowedRequest | undefined> => {
    const { campaign: id, first } = claim;
    const record = await recordOf(claim);
    if (record === null) return undefined;
    const match = record.requestId === '' ? await matched(id, first) : undefined;
    const requestId = match?.requestId ?? record.requestId;
    if (requestId === '') return undefined;
    const { meta } = await content.text({ ...claim, edition: record.edition });
    const recipients = await content.recipients(claim, record.count);
    return {
      sender: meta.sender,
      requestId,
      recipients: recipients.map(({ number }) => number),
      ...(match === undefined ? {} : { unknown: match.unknown }),
    };
  };

  return {
    find: (claims) => Promise.all(claims.map((claim) => orDamaged(() => find(claim)))),
  };
}

/** The delivery infos of a poll. */
export type DeliveryInfos = Extract<PollOutcome, { kind: 'infos' }>;

/** The service's own words for the statuses of the recipients; undefined if they say no more than the letters. */
export function wordsOf({ recipients }: FollowedRequest, { words }: DeliveryInfos) {
  if (words === undefined) return undefined;
  return placedWords(recipients.length, (place) => {
    const word = words.get(recipients[place] ?? '');
    return word === undefined ? undefined : storedWord(word);
  });
}

/** One letter per recipient; `-` if there is no status for the recipient. */
export function lettersOf(
  { recipients }: FollowedRequest,
  statuses: ReadonlyMap<string, DeliveryStatus>,
): string {
  const letters = recipients.map((number) => {
    const status = statuses.get(number);
    return status === undefined ? '-' : STATUS_LETTER[status];
  });
  return letters.join('');
}
