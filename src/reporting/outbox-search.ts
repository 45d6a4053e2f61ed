import type { LaneId } from '../base/redis/keys.js';
import type { FoundRecipient } from '../campaign/views/recipient-views.js';

/** A message of an outbox that was sent; in ms since the epoch. */
export interface SentMessage {
  readonly outbox: string;
  readonly message: string;
  readonly number: string;
  /** Empty if it has none. */
  readonly reference: string;
  readonly sender: string;
  readonly sentAt: number;
}

/** Finds messages of outboxes by number, E.164 with its plus. */
export interface OutboxSearch {
  /** All messages to these numbers, by outbox, and in no order within one. Throws the signal's reason when it fires. */
  find(
    numbers: readonly string[],
    options?: { readonly lanes?: readonly LaneId[] | undefined; readonly signal?: AbortSignal | undefined },
  ): AsyncIterable<FoundRecipient>;
  /** The last message to one of these numbers, from a sender; null if none was sent of late. */
  lastSent(
    lane: LaneId,
    numbers: readonly string[],
    isSender: (sender: string) => boolean,
  ): Promise<SentMessage | null>;
  /** Identifies the messages to the subscriber of a number that were claimed at `from` or later, ms, as `messageEntry` does. */
  sentSince(lane: LaneId, number: string, from: number): Promise<readonly string[]>;
}
