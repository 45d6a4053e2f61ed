import type { Readable } from 'node:stream';
import type { InvalidRow, Preview } from '../campaign/views.js';
import type { RecipientInput } from './read-objects.js';

/** A CSV that arrives as a stream. It is read once, no faster than it is imported. */
export interface CsvStream {
  readonly csv: Readable;
}

/** A campaign to be imported. */
export interface CampaignInput {
  /** The path of a CSV file, a stream of one, or recipients as objects. */
  readonly recipients: string | CsvStream | Iterable<RecipientInput> | AsyncIterable<RecipientInput>;
  /** The text to send, with `{{name}}` placeholders for columns of the list. */
  readonly message: string;
  /** A number of up to 15 characters, or a name of up to 11 GSM-7 characters; default: `SENDER_ADDRESS`. */
  readonly sender?: string | undefined;
  readonly senderName?: string | undefined;
  /** Default: the first configured lane. */
  readonly lane?: string | undefined;
  /** A name for people; default: the name of the file, or the time. */
  readonly name?: string | undefined;
  /** The column with the phone numbers; default: found by its name or its values (`to` for objects). */
  readonly toColumn?: string | undefined;
  /** ISO 3166 code of nationally written numbers; default: `DEFAULT_COUNTRY`. */
  readonly country?: string | undefined;
  /** When sending begins, ms since the epoch; default: now. */
  readonly at?: number | undefined;
  readonly priority?: 'high' | 'normal' | undefined;
  /** Milliseconds after launch until recipients that were not sent to lapse; default: never. */
  readonly validForMs?: number | undefined;
  /** The same key and content return the existing campaign while that is kept; the same key with other content conflicts. */
  readonly idempotencyKey?: string | undefined;
  /** Leaves invalid rows out and passes them to `onInvalid`; by default a single invalid row refuses the list. */
  readonly skipInvalid?: boolean | undefined;
  readonly onInvalid?: ((row: InvalidRow) => void) | undefined;
  /** Allows the same content as a campaign of the last 24 hours. */
  readonly again?: boolean | undefined;
  /** `lane`: only campaigns of the same lane count as repeats, for tenants that must not learn of each other; default: all. */
  readonly repeatsWithin?: 'lane' | undefined;
  /** Called when everything is imported and before anything is launched; false discards the import. */
  readonly confirm?: ((preview: Preview) => Promise<boolean>) | undefined;
  /** Aborts and discards the import. */
  readonly signal?: AbortSignal | undefined;
}

/** The outcome of an enqueue: a closed set. */
export type EnqueueOutcome =
  | {
      readonly kind: 'created' | 'existing';
      readonly id: string;
      readonly recipients: number;
      readonly duplicates: number;
      readonly invalid: number;
      readonly suppressed: number;
      readonly preview: Preview;
    }
  /** The list has invalid rows and `skipInvalid` is not set, or all of its rows are invalid. Nothing is stored. */
  | { readonly kind: 'invalidRows'; readonly preview: Preview }
  /** This campaign had the same recipients, message, and sender within the last 24 hours; `again` allows a repeat. */
  | { readonly kind: 'repeated'; readonly id: string }
  /** The idempotency key belongs to this campaign, which has other content. */
  | { readonly kind: 'conflict'; readonly id: string }
  /** `confirm` returned false. */
  | { readonly kind: 'declined' };
