import type { Clock } from '../../base/clock.js';
import type { LaneId } from '../../base/redis/keys.js';
import type { Operator } from '../../campaign/audit.js';
import type { LastSent } from '../../campaign/inbound.js';
import type { Wish } from '../../campaign/stop-words.js';
import type { FoundOperation, Suppression } from '../recipients/suppression.js';
import { type InFlight, messageEntry } from './in-flight.js';
import type { LoggedMessage, PendingMessage } from './inbound-store.js';

/*
 *   stop:   claims ──► number on the list, with a record that names the message ──► claims again ──► count
 *   start:  the records that stop words made ──► each undone for the number
 *
 * A worker checks the lists after it has claimed a batch (sending/messages.ts), and once more right before the request if the claim is
 * older than 2 s (sending/send.ts). So no request carries a number whose claim began after it was on the list. A claim that began before
 * is in flight, and is counted: those that existed before, which the record lists in case this process dies, and those that exist
 * afterwards, because one may end and one may begin meanwhile. If the process dies before it has read those, they may have ended when
 * another one takes over: then the message that was claimed since the stop arrived counts.
 */

/** The last message that was sent to a number. */
export interface FoundSent {
  readonly last: LastSent;
  /** Its place in its campaign. */
  readonly ordinal: number;
  /** When its request was claimed, ms by the clock of Redis. */
  readonly sentAt: number;
}

/** What {@link wishFulfiller} works with. */
interface WishOptions {
  readonly suppression: Pick<Suppression, 'add' | 'undo' | 'operationsOf' | 'isOnlyBy'>;
  readonly inFlight: InFlight;
  /** Whether a stop word counts for the lane of its number, or for all lanes. */
  readonly scope: 'lane' | 'all';
  /** All lanes. */
  lanes(): Promise<readonly LaneId[]>;
  /** Who changes the lists. */
  readonly by: Operator;
  readonly clock: Clock;
  /** Finds the last message that was sent to a number from a sender; null if there is none, or if it is long ago. */
  lastSent(lane: LaneId, number: string, sender: string): Promise<FoundSent | null>;
  /** Called when an operation has changed a list, or was undone. */
  changed(change: 'added' | 'undone', operation: FoundOperation): void;
}

/** What a wish has changed. */
export type Fulfilled = Required<Pick<LoggedMessage, 'wish' | 'isNew' | 'inFlight'>> &
  Pick<LoggedMessage, 'op'>;

/** The source of the operations that stop words make. A start word undoes only these. */
export const REPLY_SOURCE = 'reply';
/** A phone number, which can be suppressed. */
const NUMBER = /^\+\d{7,15}$/;

/** Does what messages ask for. Doing it again, after a process has died in between, changes nothing more. */
export function wishFulfiller({ suppression, inFlight, scope, by, clock, ...options }: WishOptions) {
  const byReplies = async (number: string, list: LaneId | null): Promise<FoundOperation[]> =>
    (await suppression.operationsOf(number, list)).filter(({ source }) => source === REPLY_SOURCE);

  /** The message to its sender that was claimed since it arrived, and may have ended. */
  const sentSince = async (lane: LaneId, { from, to, at }: PendingMessage): Promise<string[]> => {
    const sent = await options.lastSent(lane, from, to);
    return sent === null || sent.sentAt < at ? [] : [messageEntry(lane, sent.last.campaign, sent.ordinal)];
  };
  const stop = async (lane: LaneId, message: PendingMessage): Promise<Fulfilled> => {
    const { messageId, from: number } = message;
    const list = scope === 'all' ? null : lane;
    const reason = `stop word in message ${messageId}`;
    const concerned = list === null ? await options.lanes() : [lane];
    const before = await inFlight(concerned, number);
    let [operation] = await byReplies(number, list);
    const isTakenOver = operation?.reason === reason;
    if (operation === undefined) {
      const made = {
        list,
        actor: by.actor,
        source: REPLY_SOURCE,
        reason,
        at: clock(),
        inFlight: [...before],
      };
      const details = { numberCount: 1, source: REPLY_SOURCE };
      operation = await by.audited({ action: 'suppression.add', lane, details }, () =>
        suppression.add([number], made),
      );
      options.changed('added', operation);
    }
    const after = await inFlight(concerned, number);
    const isOurs = operation.reason === reason;
    const isNew = isOurs && (await suppression.isOnlyBy(operation.id, lane, number));
    const ended = isTakenOver ? [...(operation.inFlight ?? []), ...(await sentSince(lane, message))] : [];
    const messages = new Set([...ended, ...before, ...after]);
    return { wish: 'stop', op: operation.id, isNew, inFlight: messages.size };
  };

  const start = async (lane: LaneId, { from: number }: PendingMessage): Promise<Fulfilled> => {
    let lifted: FoundOperation | undefined;
    for (const list of [lane, null]) {
      for (const operation of await byReplies(number, list)) {
        const details = { operation: operation.id };
        await by.audited({ action: 'suppression.undo', lane, details }, () =>
          suppression.undo(operation, by.actor, clock(), [number]),
        );
        options.changed('undone', operation);
        lifted = operation;
      }
    }
    const isNew = lifted !== undefined;
    return { wish: 'start', ...(lifted === undefined ? {} : { op: lifted.id }), isNew, inFlight: 0 };
  };

  return async (wish: Wish, lane: LaneId, message: PendingMessage): Promise<Fulfilled> => {
    if (!NUMBER.test(message.from)) return { wish, isNew: false, inFlight: 0 };
    return wish === 'stop' ? stop(lane, message) : start(lane, message);
  };
}
