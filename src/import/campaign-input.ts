import type { Readable } from 'node:stream';
import type { InvalidRow, Preview } from '../campaign/views.js';
import type { RecipientInput } from './row-objects.js';

/** A CSV that comes in piece by piece. It is read once, no faster than it is imported. */
export interface CsvStream {
  readonly csv: Readable;
}

/** What a campaign is made of. */
export interface CampaignInput {
  /** A path of a CSV file, its bytes, or recipients as code has them. */
  readonly recipients: string | CsvStream | Iterable<RecipientInput> | AsyncIterable<RecipientInput>;
  readonly message: string;
  /** A number of up to 15 characters or up to 11 of the GSM 7-bit alphabet; default: `SENDER_ADDRESS`. */
  readonly sender?: string | undefined;
  readonly senderName?: string | undefined;
  readonly lane?: string | undefined;
  /** For people; default: the file's name or the time. */
  readonly name?: string | undefined;
  readonly toColumn?: string | undefined;
  /** ISO 3166 code of nationally written numbers; default: `DEFAULT_COUNTRY`. */
  readonly country?: string | undefined;
  /** When sending begins, ms since the epoch; default now. */
  readonly at?: number | undefined;
  readonly priority?: 'high' | 'normal' | undefined;
  /** Milliseconds from launch after which what was not sent lapses. */
  readonly validForMs?: number | undefined;
  /** The same key makes no second campaign while the first is kept; other content under it is an error. */
  readonly idempotencyKey?: string | undefined;
  /** Bad rows are left out, and handed to `onInvalid`; without it one of them refuses the whole list. */
  readonly skipInvalid?: boolean | undefined;
  readonly onInvalid?: ((row: InvalidRow) => void) | undefined;
  /** Allow what equals a campaign of the last 24 hours. */
  readonly again?: boolean | undefined;
  /** Whether those of its own lane alone count for that; default: of all lanes. For parties that know nothing of each other. */
  readonly repeatsWithin?: 'lane' | undefined;
  /** Asked when everything is imported and before anything is launched; false discards it all. */
  readonly confirm?: ((preview: Preview) => Promise<boolean>) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** What became of an enqueue: a closed set. */
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
  /** Bad rows, and `skipInvalid` was not asked for, or no row is any better. Nothing is kept. */
  | { readonly kind: 'invalidRows'; readonly preview: Preview }
  /** Another campaign with the same file, text and sender within 24 hours; `again` allows it. */
  | { readonly kind: 'repeated'; readonly id: string }
  /** The idempotency key belongs to a campaign with other content. */
  | { readonly kind: 'conflict'; readonly id: string }
  /** `confirm` said no. */
  | { readonly kind: 'declined' };
