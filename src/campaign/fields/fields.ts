import { notText } from '../text/lone-surrogate.js';
import { checkSender } from '../text/sender.js';
import { isZone, noSuchZone } from '../time/zone.js';
import type { CampaignFields } from './campaign-fields.js';
import { type Kind, type KindOf, labelsProblem, WINDOW_ADVICE } from './field-kinds.js';
import { metadataProblem } from './metadata.js';
import { resultsOfProblem } from './results-of.js';

/*
 * The fields of a campaign: what a request says besides the list. Each is defined once, as a row, and everything that handles campaigns goes
 * through the rows:
 *
 *   checks             intake/import/campaign-input.ts
 *   HTTP API           operations/schemas/campaign-members.ts     schemas, and how their values are read
 *   command line       surfaces/cli/flags/campaign-flags.ts   flags, and how their values are read
 *   schedules          intake/schedules/stored-schedule.ts   what is stored for each campaign
 *   outboxes           intake/outbox/definition/settings.ts  what is stored for its messages, and compared
 *   storage            field-schemas.ts
 *   lists              list-filters.ts                        by which fields they are filtered
 *   repeated requests  intake/import/idempotency.ts          which fields are compared
 *   redaction          surfaces/http/answers/redact.ts
 *
 * To add a field, add it to CampaignFields (campaign-fields.ts), and then its row. A field of a new kind also needs an entry for that kind in field-kinds.ts and on
 * each surface; the compiler names them. Help on the command line reads the rows, so nothing here may load zod.
 */

export type { CampaignFields } from './campaign-fields.js';

/** A field of a campaign. */
export type FieldName = keyof CampaignFields;

/** What a field is part of. */
export type Taker = 'campaign' | 'preview' | 'schedule' | 'outbox' | 'change' | 'template';

/** A row: all that is known about a field. */
export type Field = Kind & {
  /** What the documentation of the HTTP API says. */
  readonly description: string;
  /** Its flag on the command line, and what help says about it. */
  readonly flag: string;
  readonly help: string;
  readonly takenBy: readonly Taker[];
  /** Where its default comes from: a setting, or a value. */
  readonly setting?: 'senderAddress' | 'senderName' | 'defaultCountry';
  readonly usual?: unknown;
  /** What to say if it has no value and no default, and a campaign cannot do without it. */
  readonly missing?: string;
  /** Whether a campaign is stored with it: always, if it has a value, or never. */
  readonly stored: 'always' | 'ifGiven' | 'never';
  /** The member of a stored campaign, if it is not the name in code. */
  readonly storedAs?: string;
  /** Its name in error texts, if requests with one idempotency key must agree on it; null: they may differ. */
  readonly compared: string | null;
  /** What a key without the scope `read` sees of it. */
  readonly withoutRead: 'whole' | 'masked' | 'nothing';
  /** For the producer's own data, which the status, reports, and results of the campaign return: how the API describes it there. */
  readonly returned?: string;
  /** Why a value is invalid; null if it is valid. */
  problem?(value: never): string | null;
};

/** A row of a field with values of this type. */
type FieldWith<Value> = Field &
  KindOf<Value> & { readonly usual?: Value; problem?(value: Value): string | null };

const ALL = ['campaign', 'preview', 'schedule', 'outbox'] as const;
const LISTS = ['campaign', 'preview', 'schedule'] as const;
const ONCE = ['campaign', 'preview'] as const;
/** A change of a campaign takes these, too. */
const EVER = [...ALL, 'change'] as const;
/** And so does a template. */
const TEXT = [...EVER, 'template'] as const;

/** The name of a template, and of an outbox. */
export const NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;
/** The longest text of a message, in characters. */
export const MAX_TEXT_LENGTH = 20_000;

/** The fields. Documentation and help list them in this order. */
export const FIELDS = {
  message: {
    kind: 'message',
    longest: MAX_TEXT_LENGTH,
    description: 'The text. Placeholders such as `{{name}}` are replaced by the values of each recipient.',
    flag: '-m, --message <text|@file|->',
    help: 'the text, with {{column}} placeholders; @file reads it from a file, without one final line break; - from standard input; write @@ to start a text with @',
    takenBy: TEXT,
    stored: 'always',
    storedAs: 'text',
    compared: 'text',
    withoutRead: 'nothing',
    missing: 'the message is missing: write the text to send',
    problem: (text) =>
      text.trim() === '' ? 'the message is empty: write the text to send' : notText(text, 'the message '),
  },
  template: {
    kind: 'text',
    longest: 64,
    description:
      'Instead of `message`: the name of a template of the lane. Its text is copied, and its sender, if it has one and there is no `sender`. A later change of the template changes nothing that exists.',
    flag: '--template <name>',
    help: 'instead of --message: the text that is saved on the lane under this name, with its sender',
    takenBy: LISTS,
    stored: 'never',
    // Its text is.
    compared: null,
    withoutRead: 'whole',
    problem: (name) =>
      NAME.test(name)
        ? null
        : 'the name of a template has 1 to 64 letters, digits, - and _, and begins with a letter or digit',
  },
  sender: {
    kind: 'text',
    longest: 200,
    description: 'A number of up to 15 digits, or a name of up to 11 characters. Default: SENDER_ADDRESS.',
    flag: '-s, --sender <number|name>',
    help: 'the sender (default: SENDER_ADDRESS)',
    takenBy: TEXT,
    setting: 'senderAddress',
    stored: 'always',
    compared: 'sender',
    withoutRead: 'whole',
    missing: 'there is no sender: set `sender` or SENDER_ADDRESS',
    problem(sender) {
      const form = checkSender(sender);
      return form.kind === 'invalid' ? form.reason : null;
    },
  },
  senderName: {
    kind: 'text',
    longest: 200,
    description: 'A name for the sending application. Default: SENDER_NAME.',
    flag: '--sender-name <name>',
    help: 'name of the sending application (default: SENDER_NAME)',
    takenBy: EVER,
    setting: 'senderName',
    stored: 'ifGiven',
    compared: 'sender name',
    withoutRead: 'whole',
    problem: (name) => notText(name, 'senderName '),
  },
  lane: {
    kind: 'text',
    longest: 200,
    description: 'Default: the first lane, or the only lane of the key.',
    flag: '-l, --lane <name>',
    help: 'the lane to send through, which is an API key with its quota (default: the first one)',
    takenBy: ALL,
    stored: 'always',
    compared: 'lane',
    withoutRead: 'whole',
  },
  name: {
    kind: 'text',
    longest: 200,
    description: 'A name for people to read. Default: the time.',
    flag: '--name <name>',
    help: "the campaign's name, for people (default: the file name)",
    takenBy: LISTS,
    stored: 'always',
    // It is for people.
    compared: null,
    withoutRead: 'masked',
    problem: (name) => notText(name, 'name '),
  },
  tags: {
    kind: 'labels',
    description:
      'Up to 10 labels. Lists of campaigns are filtered by them, and the status and the results return them. Each has 1 to 64 letters (A-Z, a-z), digits, and `.`, `_`, `:`, `-`. Upper and lower case differ, and a label counts once.',
    flag: '--tag <label>',
    help: 'a label that status and results return, and by which `list` filters; repeat it for up to 10',
    takenBy: EVER,
    stored: 'ifGiven',
    compared: 'set of tags',
    withoutRead: 'masked',
    returned: 'The tags, sorted',
    problem: (tags) => labelsProblem('tag', tags),
  },
  metadata: {
    kind: 'entries',
    description:
      'Your own data about the campaign: at most 20 texts of up to 500 characters. The status, the recipients, and the results return it.',
    flag: '--metadata <name=value>',
    help: 'your own data about the campaign, which status and results return; repeat it for more',
    takenBy: LISTS,
    stored: 'ifGiven',
    compared: null,
    withoutRead: 'nothing',
    returned: 'Your own data about the campaign, as you passed it when you created it',
    problem: metadataProblem,
  },
  toResultsOf: {
    kind: 'resultsOf',
    description:
      'Send to recipients of an earlier campaign, instead of `recipients`: to those who have these states now. The campaign may still run. The text may use its number column, the columns that its own text uses, and `reference`. Requires the scope `read`, and that the key may use the lane of that campaign.',
    flag: '--to-results-of <campaign>',
    help: 'send to recipients of this campaign, which may still run, instead of a file: those who now have the states of --status',
    takenBy: [...ONCE, 'schedule'],
    stored: 'ifGiven',
    compared: 'campaign whose results it goes to',
    withoutRead: 'whole',
    problem: resultsOfProblem,
  },
  toColumn: {
    kind: 'text',
    longest: 200,
    description: 'The column of the numbers. Default: found by its name and values.',
    flag: '--to-column <column>',
    help: 'the column with the numbers (default: found by name and content)',
    takenBy: LISTS,
    stored: 'never',
    compared: null,
    withoutRead: 'whole',
  },
  sheet: {
    kind: 'text',
    longest: 200,
    description: 'Of an Excel workbook: the sheet with the list. Default: the first one that is not hidden.',
    flag: '--sheet <name>',
    help: 'the sheet of an Excel workbook (default: the first one)',
    takenBy: LISTS,
    stored: 'never',
    // The rows that result from it are compared.
    compared: null,
    withoutRead: 'whole',
  },
  headerLine: {
    kind: 'lineNumber',
    description:
      'The line of the file that names the columns, if something else is above it. Default: the first line that is not empty.',
    flag: '--header-line <number>',
    help: 'the line that names the columns, if something else is above it (default: the first line)',
    takenBy: LISTS,
    stored: 'never',
    compared: null,
    withoutRead: 'whole',
    problem: (line) =>
      Number.isInteger(line) && line >= 1 && line <= 1_000
        ? null
        : 'the line of the header is not a number from 1 to 1,000',
  },
  country: {
    kind: 'country',
    description: 'The country (ISO 3166) of numbers that are written nationally. Default: DEFAULT_COUNTRY.',
    flag: '--country <code>',
    help: 'country of numbers in national format (default: DEFAULT_COUNTRY)',
    takenBy: ALL,
    setting: 'defaultCountry',
    stored: 'never',
    // The numbers that result from it are part of the list.
    compared: null,
    withoutRead: 'whole',
  },
  countryColumn: {
    kind: 'text',
    longest: 200,
    description:
      'The column (in JSON: the member of each recipient) with the country of its number, if that is written nationally: an ISO 3166 code such as `DE`, or a name such as `Germany`. Rows without one use `country`. Default: none.',
    flag: '--country-column <column>',
    help: 'the column with the country of each number in national format: ISO codes or names (default: found by name and content)',
    takenBy: LISTS,
    stored: 'never',
    // As for `country`.
    compared: null,
    withoutRead: 'whole',
  },
  sendAt: {
    kind: 'time',
    description:
      'When sending starts, in ISO 8601. Without an offset, it is a local time of `zone`; one that the zone skips or has twice is rejected. Default: now.',
    flag: '--at <time>',
    help: 'when sending starts: "tomorrow 9:00" or "monday 09:00", or ISO 8601: {tomorrow}; without an offset, a local time of --zone',
    takenBy: [...ONCE, 'change'],
    stored: 'ifGiven',
    storedAs: 'at',
    compared: 'time',
    withoutRead: 'whole',
  },
  priority: {
    kind: 'choice',
    choices: ['high', 'normal'],
    description: '`high` gets a larger share of the lane. Default: `normal`.',
    flag: '--priority <high|normal>',
    help: 'high gets a larger share of the lane',
    takenBy: EVER,
    usual: 'normal',
    stored: 'always',
    compared: 'priority',
    withoutRead: 'whole',
  },
  validFor: {
    kind: 'duration',
    description: 'Messages that have not been sent this long after the start lapse. For example: `24h`.',
    flag: '--valid-for <duration>',
    help: 'messages not sent within this time after the start lapse: 90m, 24h',
    takenBy: [...LISTS, 'change'],
    stored: 'ifGiven',
    storedAs: 'validForMs',
    compared: 'validity',
    withoutRead: 'whole',
  },
  window: {
    kind: 'window',
    description: 'When messages may be sent. Default: whenever the lane may send.',
    flag: '--window <hours>',
    help: 'when messages may be sent: "Mon-Sat 09:00-20:00", several separated by commas (default: at any time)',
    exceptFlag: '--except <dates>',
    exceptHelp: 'dates on which --window is closed: 2030-05-01,2030-12-25',
    zoneFlag: '--window-zone <recipient>',
    zoneHelp:
      "whose hours --window has: `recipient`, those of each recipient's own time zone (default: those of --zone)",
    takenBy: EVER,
    stored: 'ifGiven',
    compared: 'window',
    withoutRead: 'whole',
    problem: (window) =>
      typeof window === 'object' ? null : `the window is not an object: ${WINDOW_ADVICE}`,
  },
  zone: {
    kind: 'text',
    longest: 100,
    description:
      "The IANA time zone of `window` and of local times, such as `Europe/Paris`. Default: the zone of the lane's window.",
    flag: '--zone <zone>',
    help: "the time zone of --at and --window, and of the times that you see, such as Europe/Paris (default: that of the lane's window)",
    takenBy: [...ONCE, 'change'],
    stored: 'ifGiven',
    // The window's rule contains it, and is compared.
    compared: null,
    withoutRead: 'whole',
    problem: (zone) => (isZone(zone) ? null : noSuchZone(zone)),
  },
  zoneColumn: {
    kind: 'text',
    longest: 200,
    description:
      'The column (in JSON: the member of each recipient) with its IANA time zone, if `window.zone` is `recipient`. Default: `zone`. A row without a zone is invalid. With `timeColumn`, it is also the zone of local times.',
    flag: '--zone-column <column>',
    help: 'with --window-zone recipient: the column with the time zone of each recipient (default: zone)',
    takenBy: LISTS,
    stored: 'never',
    // As for `country`.
    compared: null,
    withoutRead: 'whole',
  },
  timeColumn: {
    kind: 'text',
    longest: 200,
    description:
      'The column (in JSON: the member of each recipient) with the time before which Volley does not send to it, in ISO 8601. Without an offset, it is a local time of its time zone, or else of `zone`. Default: `sendAt`, if there is one. Then a row without a time, or whose time is more than an hour over, is invalid.',
    flag: '--time-column <column>',
    help: 'the column with the time of each recipient (default: sendAt, if there is one)',
    takenBy: LISTS,
    stored: 'never',
    // The times that result from it are part of the list.
    compared: null,
    withoutRead: 'whole',
  },
  zoneFrom: {
    kind: 'choice',
    choices: ['number'],
    description:
      "`number`: a row, or message of an outbox, without a time zone is sent in the hours that are open in all zones of its number's country. Default: it is invalid.",
    flag: '--zone-from <number>',
    help: "with --window-zone recipient: rows or messages without a zone are sent in the hours that are open in all zones of their number's country",
    takenBy: [...LISTS, 'outbox'],
    stored: 'never',
    compared: null,
    withoutRead: 'whole',
  },
  duplicates: {
    kind: 'choice',
    choices: ['first', 'keep', 'refuse'],
    description:
      'What to do with a row that has the number of an earlier row and a different text: leave it out (`first`), send both messages, each in a request of its own (`keep`), or reject the list (`refuse`). Default: `refuse` for JSON, `first` for a CSV. A row with the same number and the same text is always left out.',
    flag: '--duplicates <first|keep|refuse>',
    help: 'if a number appears again with another text: send the first, send all, or refuse the list (default: first)',
    takenBy: LISTS,
    stored: 'never',
    compared: null,
    withoutRead: 'whole',
  },
  skipInvalid: {
    kind: 'switch',
    description: 'Leave out invalid rows. Otherwise one invalid row rejects the whole list.',
    flag: '--skip-invalid',
    help: 'leave out invalid rows; `send` writes them to a file beside the list: spring.invalid.csv',
    takenBy: LISTS,
    stored: 'never',
    compared: null,
    withoutRead: 'whole',
  },
  maxCost: {
    kind: 'amount',
    description:
      'Reject a campaign that costs more (`overBudget`), or that has a number without a price (`noPrice`). Needs prices: PRICE_PER_SEGMENT or PRICE_FILE.',
    flag: '--max-cost <amount>',
    help: 'refuse a campaign that costs more, or has a number without a price; needs PRICE_PER_SEGMENT or PRICE_FILE',
    takenBy: [...LISTS, 'change'],
    stored: 'never',
    compared: null,
    withoutRead: 'whole',
  },
  again: {
    kind: 'switch',
    description: 'Allow a campaign that equals one of the last 24 hours (same list, text, and sender).',
    flag: '--again',
    help: 'allow a campaign that equals one of the last 24 hours',
    takenBy: ONCE,
    stored: 'never',
    compared: null,
    withoutRead: 'whole',
  },
  idempotencyKey: {
    kind: 'text',
    longest: 255,
    description:
      'A unique key for this campaign. A retry with the same key and content returns the existing campaign; other content is rejected.',
    flag: '--idempotency-key <key>',
    help: 'if a campaign with the same key exists, it is returned, not repeated',
    takenBy: ['campaign'],
    stored: 'ifGiven',
    compared: null,
    withoutRead: 'masked',
    problem: (key) => (key === '' ? 'the idempotency key is empty: leave it out or set a value' : null),
  },
} as const satisfies {
  readonly [Name in FieldName]: FieldWith<NonNullable<CampaignFields[Name]>>;
};
