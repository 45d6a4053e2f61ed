import type { Clock } from '../../base/clock.js';
import type { LaneId } from '../../base/redis/keys.js';
import type { Operator } from '../../campaign/states/audit.js';
import type { Wish } from '../../campaign/text/stop-words.js';
import type { FoundOperation, Suppression } from '../suppression/suppression.js';
import type { InFlight } from './in-flight.js';
import type { LoggedMessage, PendingMessage } from './inbound-store.js';

/*
 *   stop:   claims ──► number on the list, with a record that names the message ──► claims again ──► count
 *   start:  the records that earlier stop words made ──► each undone for the number
 *
 * A worker checks the lists after it has claimed a batch (sending/messages.ts), and once more right before the request if the claim is
 * older than 2 s (sending/send.ts). So no request carries a number whose claim began after it was on the list. A claim that began before
 * is in flight, and is counted: those that existed before, which the record lists in case this process dies, and those that exist
 * afterwards, because one may end and one may begin meanwhile. If the process dies before it has read those, they may have ended when
 * another one takes over: then those that were claimed since the stop arrived count.
 */

/** What {@link wishFulfiller} works with. */
export interface WishOptions {
  readonly suppression: Pick<Suppression, 'add' | 'lift' | 'renew' | 'operationsOf' | 'isOnlyBy'>;
  readonly inFlight: InFlight;
  /** Whether a stop word counts for the lane of its number, or for all lanes. */
  readonly scope: 'lane' | 'all';
  /** All lanes. */
  lanes(): Promise<readonly LaneId[]>;
  /** Who changes the lists. */
  readonly by: Operator;
  readonly clock: Clock;
  /**
   * Finds the messages to a number that were claimed at this time or later, of campaigns that began until another time; ms by the clock of
   * Redis. They may have ended. Entries as {@link InFlight} returns them.
   */
  sentSince(
    lane: LaneId,
    number: string,
    times: { readonly from: number; readonly begunUntil: number },
  ): Promise<readonly string[]>;
  /** Called when an operation has changed a list, or was undone. */
  changed(change: 'added' | 'undone', operation: FoundOperation): Promise<void>;
}

/** The message with the wish. */
type Wisher = Pick<PendingMessage, 'messageId' | 'from' | 'at'>;

/** What a wish has changed. */
export type Fulfilled = Required<Pick<LoggedMessage, 'wish' | 'isNew' | 'inFlight'>> &
  Pick<LoggedMessage, 'op'>;

/** The source of the operations that stop words make. Programs may give theirs the same. */
const REPLY_SOURCE = 'reply';
/** How long after its operation was made a number may get on the list. The confirmation is sent later: another process waits longer. */
const ADDED_WITHIN_MS = 5_000;
/** A phone number, which can be suppressed. */
const NUMBER = /^\+\d{7,15}$/;

/** Does what messages ask for. Doing it again, after a process has died in between, changes nothing more. */
export function wishFulfiller({ suppression, inFlight, scope, by, clock, ...options }: WishOptions) {
  /** Those that stop words made: the only ones with the time of a message. */
  const byReplies = async (number: string, list: LaneId | null): Promise<FoundOperation[]> =>
    (await suppression.operationsOf(number, list)).filter(({ receivedAt }) => receivedAt !== undefined);

  /** The operation of an earlier stop word that keeps the number on its list, also if a start word arrived in between. */
  const renewed = async (
    earlier: readonly FoundOperation[],
    number: string,
    at: number,
  ): Promise<FoundOperation | undefined> => {
    for (const operation of earlier) {
      if ((operation.receivedAt ?? 0) >= at || (await suppression.renew(operation, number, at)))
        return operation;
    }
    return undefined;
  };

  const stop = async (lane: LaneId, { messageId, from: number, at }: Wisher): Promise<Fulfilled> => {
    const list = scope === 'all' ? null : lane;
    const reason = `stop word in message ${messageId}`;
    const concerned = list === null ? await options.lanes() : [lane];
    const before = await inFlight(concerned, number);
    const earlier = await byReplies(number, list);
    let operation = earlier.find((one) => one.reason === reason);
    const isTakenOver = operation !== undefined;
    operation ??= await renewed(earlier, number, at);
    if (operation === undefined) {
      const made = {
        list,
        actor: by.actor,
        source: REPLY_SOURCE,
        reason,
        at: clock(),
        receivedAt: at,
        inFlight: [...before],
      };
      const details = { numberCount: 1, source: REPLY_SOURCE };
      operation = await by.audited({ action: 'suppression.add', lane, details }, () =>
        suppression.add([number], made),
      );
      await options.changed('added', operation);
    }
    const after = await inFlight(concerned, number);
    const isOurs = operation.reason === reason;
    const isNew = isOurs && (await suppression.isOnlyBy(operation.id, lane, number));
    const messages = new Set([...before, ...after]);
    if (isTakenOver) {
      const { inFlight: recorded = [], at: madeAt } = operation;
      const times = { from: at, begunUntil: madeAt + ADDED_WITHIN_MS };
      const since = concerned.map((one) => options.sentSince(one, number, times));
      for (const message of [...recorded, ...(await Promise.all(since)).flat()]) messages.add(message);
    }
    return { wish: 'stop', op: operation.id, isNew, inFlight: messages.size };
  };

  const start = async (lane: LaneId, { from: number, at }: Wisher): Promise<Fulfilled> => {
    let lifted: FoundOperation | undefined;
    for (const list of [lane, null]) {
      for (const operation of await byReplies(number, list)) {
        // The process that got this message has died, and another stop word came before a second one took it over.
        if ((operation.receivedAt ?? 0) > at) continue;
        const details = { operation: operation.id };
        const isLifted = await by.audited({ action: 'suppression.undo', lane, details }, () =>
          suppression.lift(operation, number, by.actor, { at: clock(), upTo: at }),
        );
        if (!isLifted) continue;
        await options.changed('undone', operation);
        lifted = operation;
      }
    }
    const isNew = lifted !== undefined;
    return { wish: 'start', ...(lifted === undefined ? {} : { op: lifted.id }), isNew, inFlight: 0 };
  };

  return async (wish: Wish, lane: LaneId, message: Wisher): Promise<Fulfilled> => {
    if (!NUMBER.test(message.from)) return { wish, isNew: false, inFlight: 0 };
    return wish === 'stop' ? stop(lane, message) : start(lane, message);
  };
}
