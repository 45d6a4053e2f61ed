import type { Time } from '../time/moment.js';
import type { Metadata } from './metadata.js';
import type { ResultsOf } from './results-of.js';

/** Fields whose text may be that of a template. */
export type WithTemplate<Fields extends { readonly message: string }> = Omit<Fields, 'message'> & {
  readonly message?: string | undefined;
};

/** What describes a campaign, besides its list. */
export interface CampaignFields {
  /** The text to send, with `{{name}}` placeholders for columns of the list. */
  readonly message: string;
  /**
   * Instead of `message`: the name of a template of the lane, whose text is copied, and its sender, if it has one and there is no `sender`.
   */
  readonly template?: string | undefined;
  /** A number of up to 15 digits, or a name of up to 11 characters of the GSM 7-bit alphabet; default: `SENDER_ADDRESS`. */
  readonly sender?: string | undefined;
  /** A name for the sending application; default: `SENDER_NAME`. */
  readonly senderName?: string | undefined;
  /** Default: the first configured lane. */
  readonly lane?: string | undefined;
  /** A name for people; default: the name of the file, or the time. */
  readonly name?: string | undefined;
  /**
   * At most 10 labels, by which lists are filtered; the status and the results return them. Each has 1 to 64 letters (A-Z, a-z), digits, and
   * `.`, `_`, `:`, `-`; a label counts once, and their order means nothing.
   */
  readonly tags?: readonly string[] | undefined;
  /** Your own data about the campaign, at most 20 texts; the status and the results return it. */
  readonly metadata?: Metadata | undefined;
  /**
   * Sends to the recipients of this campaign who have these states now, instead of to a list of your own. It reads them once, with the values
   * of the columns that the text of that campaign uses, and their references. A request that repeats an idempotency key reads nothing again.
   */
  readonly toResultsOf?: ResultsOf | undefined;
  /** The column with the phone numbers; default: found by its name or its values (`to` for objects). */
  readonly toColumn?: string | undefined;
  /** Of an Excel workbook: the sheet with the list; default: the first one that is not hidden. */
  readonly sheet?: string | undefined;
  /** The line of a CSV or a sheet that names the columns, if something else is above it; default: the first that is not empty. */
  readonly headerLine?: number | undefined;
  /** ISO 3166 code of nationally written numbers; default: `DEFAULT_COUNTRY`. */
  readonly country?: string | undefined;
  /**
   * The column, or the member of each recipient, with the country of each number that is written nationally; default: in a CSV, found by its
   * name and its values; for objects, none. A row without a country has that of `country`.
   */
  readonly countryColumn?: string | undefined;
  /**
   * When sending begins: ms since the epoch, a Date, or ISO 8601, without an offset a local time of `zone`. A local time that the zone skips
   * or has twice is refused, and so is a time in the past, unless the idempotency key has created the campaign before. Default: now.
   */
  readonly sendAt?: Time | undefined;
  /** `high` gets a larger share of the lane; default: `normal`. */
  readonly priority?: 'high' | 'normal' | undefined;
  /** How long after the launch recipients that were not sent to lapse, such as `90m`; default: never. */
  readonly validFor?: string | undefined;
  /** When messages may be sent; default: at any time that the lane allows. */
  readonly window?:
    | {
        /** Days and hours, such as `Mon-Sat 09:00-20:00`. */
        readonly hours: string;
        /** Dates on which nothing is sent, such as `2030-05-01`; default: none. */
        readonly except?: readonly string[] | undefined;
        /** `recipient`: the hours are those of each recipient's own time zone; default: those of `zone`. */
        readonly zone?: 'recipient' | undefined;
      }
    | undefined;
  /** The IANA zone of `window` and of local times, such as `Europe/Paris`; default: the zone of the lane's window. */
  readonly zone?: string | undefined;
  /**
   * The column, or the member of each recipient, with its IANA zone, if `window.zone` is `recipient`; default: `zone`. Local times in
   * `timeColumn` are in this zone, too.
   */
  readonly zoneColumn?: string | undefined;
  /**
   * The column, or the member of each recipient, with the time before which it is not sent to: ISO 8601, without an offset a local time of the
   * row's zone, or else of `zone`; default: `sendAt`, if there is one. Then a row without a time, or whose time is more than an hour over, is
   * invalid.
   */
  readonly timeColumn?: string | undefined;
  /** `number`: what has no zone is sent in the hours that are open in all zones of its number's country. Default: it is invalid. */
  readonly zoneFrom?: 'number' | undefined;
  /**
   * What to do with a row that has the number of an earlier row and a different text: `first` leaves it out and lists it, `keep`
   * sends both messages, each in a request of its own, and `refuse` refuses the list. Default: `first` for a CSV, which may
   * contain a person twice; `refuse` for recipients as objects, because a program that passes two texts means both. A row with
   * the same number and the same text is always left out and listed.
   */
  readonly duplicates?: 'first' | 'keep' | 'refuse' | undefined;
  /** Leaves invalid rows out and passes them to `onInvalid`, with the columns of the list; by default a single invalid row refuses the list. */
  readonly skipInvalid?: boolean | undefined;
  /**
   * Refuses a campaign that costs more, such as `50`, or `'50 EUR'`, and one with a number that has no price. Needs `PRICE_PER_SEGMENT`
   * or `PRICE_FILE`.
   */
  readonly maxCost?: number | string | undefined;
  /** Allows the same content as a campaign of the last 24 hours on this lane. An idempotency key allows it, too. */
  readonly again?: boolean | undefined;
  /** The same key and content return the existing campaign while that is kept; the same key with other content conflicts. */
  readonly idempotencyKey?: string | undefined;
}
