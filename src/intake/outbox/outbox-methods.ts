import type { Readable } from 'node:stream';
import type { InputError } from '../../campaign/errors/errors.js';
import type {
  BulkResult,
  CancelledMessage,
  CancelResult,
  OutboxMessageStatus,
  OutboxStatus,
  PutResult,
} from '../../campaign/views/outbox-views.js';
import type { OutboxCommands } from './command-outbox.js';
import type { OutboxMessage } from './definition/check-message.js';
import type { OutboxDeleter } from './delete-outbox.js';
import type { CancelledAll } from './messages/cancel-all.js';
import type { Cancelled } from './messages/cancel-some.js';
import type { CsvColumns } from './messages/read-messages.js';
import type { OutboxSetter } from './set-outbox.js';
import type { MessagePageOptions } from './views/list-messages.js';
import type { WaitingPage, WaitingPageOptions } from './views/list-waiting.js';

/*
 * What programs can do with an outbox (outbox.ts).
 */

/** Options of {@link Outbox.import}. */
export interface ImportOptions extends CsvColumns {
  /**
   * Called with the memory that finding repeated ids takes, in bytes, before it takes more: at first, and as the list goes on. The list is read
   * on when the promise is resolved.
   */
  readonly onMemory?: ((bytes: number) => Promise<void>) | undefined;
}

/** An outbox: messages that are sent over time, each under an id of yours. */
export interface Outbox extends OutboxSetter, OutboxCommands, OutboxDeleter {
  /**
   * Stores a message, or changes it while it is waiting. Rejects with a `MessageLateError` if it is too late for that, with an `InputError`
   * that names the member if one is invalid, with `InputErrors` if several are, with an `OutboxClosedError` if the outbox is closed, and with a
   * `NotFoundError` if its lane is not configured, so that nothing would send the message. Repeating it changes nothing.
   */
  put(message: OutboxMessage): Promise<PutResult>;
  /** Everything that is wrong with a message, as {@link Outbox.put} would report it; empty if nothing is. Stores nothing. */
  problems(message: OutboxMessage): Promise<readonly InputError[]>;
  /**
   * Stores many messages, and yields a result for each, in their order. An invalid message is a result, and so is an id that occurs
   * again with different content: `invalid`.
   */
  putAll(messages: Iterable<OutboxMessage> | AsyncIterable<OutboxMessage>): AsyncIterable<BulkResult>;
  /**
   * Stores the messages of a CSV file, of NDJSON, or of a JSON array, as {@link Outbox.putAll} does. `line`: that of the file, or the position in
   * the array.
   */
  import(
    list:
      | { readonly csv: string | Readable }
      | { readonly ndjson: AsyncIterable<Buffer | string> }
      | { readonly json: AsyncIterable<Buffer | string> },
    options?: ImportOptions,
  ): AsyncIterable<BulkResult>;
  /**
   * Cancels a message that was not claimed. Once it resolves, the message is never sent. With a `version`, an id that is not known is
   * cancelled, too. Rejects with a `MessageLateError` if it is too late, and with a `NotFoundError` for an unknown id.
   */
  cancel(id: string, options?: { readonly version?: number | undefined }): Promise<CancelResult>;
  /**
   * Cancels the messages with these ids, at most 1,000, with a reference, or with a tag, and then yields a result for each, whatever its
   * state. Repeating it changes nothing. To find a reference or a tag, it reads all messages of the outbox.
   */
  cancelSome(which: Cancelled): AsyncIterable<CancelledMessage>;
  /**
   * Cancels everything that waits in the outbox. Once it resolves, they are never sent.
   * `inFlight`: requests that are still running. A message that is put meanwhile may be cancelled or not.
   */
  cancelAll(): Promise<CancelledAll>;
  /** The state of a message. Rejects with a `NotFoundError` for an unknown id. */
  message(id: string): Promise<OutboxMessageStatus>;
  status(): Promise<OutboxStatus>;
  /** The messages that wait, by their time, in pages. The number of a filter is in E.164, or written as in the country of the outbox. */
  waiting(options?: WaitingPageOptions): Promise<WaitingPage>;
  /** Messages in every state, in no order, in pages. A page reads at most 50,000 messages, so with a filter it may be short, or empty. */
  messages(options?: MessagePageOptions): Promise<WaitingPage>;
  /** All messages, in no order. */
  report(): AsyncIterable<OutboxMessageStatus>;
}
