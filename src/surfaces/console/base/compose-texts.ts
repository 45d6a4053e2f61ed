import type { Preview } from 'built/campaign/views/preview-views.js';
import { REPEATED, reasonOfGroup, refusalOfList, remedyOf } from '../../../campaign/limits/refusal.js';
import { countryText } from './countries.js';
import { capital, counted, recipientsText } from './texts.js';
import { countText } from './times.js';

export const newTexts = {
  /** Fields that are not called by their name. */
  fields: {
    toColumn: 'Column with phone numbers',
    country: 'Country of national numbers',
    countryColumn: 'Column with countries',
    name: 'Name of the campaign',
    skipInvalid: 'Leave out invalid rows, and send to the others',
    duplicates: 'If a number appears again with another text',
    local: 'Date and time',
    zone: 'Time zone',
  },

  choose: 'Choose an Excel workbook or a CSV file, or drop it here',
  listAbout:
    'A header line, then one recipient per row. A workbook may have 20 MB and 200,000 rows; a CSV may be longer.',
  encoding: (encoding: string) => `The file is in ${encoding}; the page reads it as that.`,
  rows: (count: number, isWhole: boolean) =>
    isWhole ? counted(count, 'row') : `${counted(count, 'row')} in the first 256 kB`,
  useHeader: (line: number) => `Use line ${line} as the header`,
  headerOn: (line: string) => `The header is on line ${line}.`,
  countryAbout: 'For numbers without a plus.',
  countryColumnAbout:
    'Codes such as DE, or names. For a row without one, “Country of national numbers” counts.',
  noColumn: 'no column',
  unchosen: 'choose',

  template: 'Use a saved text',
  templateAbout:
    'Up to 64 letters, digits, - and _. A text that has this name already is replaced; campaigns that were created with it keep theirs.',
  insert: 'Insert:',
  senderAbout: 'A number, or a name of up to 11 characters.',
  hint: (characters: readonly string[], extra: string) =>
    `${characters.length === 1 ? `This ${characters[0]} costs` : `These ${characters.join(' ')} cost`} ${extra}`,
  extra: (count: number, isExact: boolean, money: string | null) =>
    `${isExact ? '' : 'about '}${counted(count, 'more segment')}${money === null ? '' : `, ${money}`}`,
  noSimpler:
    'One such character makes a whole message UCS-2: 70 characters fit into a segment instead of 160.',
  replaced: 'Replaced. The message fits the GSM alphabet again.',

  phoneEmpty: 'Write a message to see it here.',
  first: 'First',
  longest: 'Longest',
  longestHead: 'Longest so far',
  dearest: 'Most expensive',
  dearestHead: 'Most expensive so far',
  of: (count: number, room: number) => `${countText(count)} of ${countText(room)}`,
  segments: (count: number) => counted(count, 'segment'),
  charged: (count: number) => `Charged as ${counted(count, 'message')}`,

  checkAbout: 'Nothing is stored or sent.',
  needsList: 'Choose a list first.',
  needsText: 'Write a message first.',
  needsLane: 'Choose an account first.',
  checking: 'The list is being checked.',
  uploading: 'Uploading the list for the check',
  reading: 'The server reads the list',
  outdated: 'You have changed something since this check.',
  countries: (all: Preview['countries']) =>
    all
      .map(
        ({ country, callingCode, numberCount }) =>
          `${country === null ? 'no country' : countryText(country)} (+${callingCode}) ${countText(numberCount)}`,
      )
      .join(' · '),
  problems: (count: number) => counted(count, 'invalid row'),
  problemsShown: (count: number) => `the first ${countText(count)}`,
  none: 'Every row is valid.',
  group: (group: Preview['invalidGroups'][number]) => capital(reasonOfGroup(group)),
  inColumn: (column: string) => `column ${column}`,
  download: 'Download the bad rows',
  downloadFirst: (count: number) => `Download the first ${countText(count)} bad rows`,
  different: (count: number) =>
    `${counted(count, 'number appears', 'numbers appear')} again with another text`,
  inRow: (row: number, text: string | null) => `Row ${row}${text === null ? '' : `: “${text}”`}`,
  duplicateChoices: { first: 'send the first', keep: 'send all', refuse: 'refuse the list' },
  inPage,

  starts: (isLater: boolean) => (isLater ? 'Later' : 'Now'),
  utc: (utc: string) => `= ${utc.replace(/ UTC$/, '')} UTC`,
  own: (time: string) => `= ${time} your time`,
  past: 'This time is in the past.',
  noTime: 'Choose a date first.',

  leftOut: (count: number, why: readonly string[]) =>
    `(${counted(count, 'row')} left out: ${why.join(', ')})`,
  duplicatesText: (count: number, rows: readonly (readonly [row: number, first: number])[]) =>
    `${counted(count, 'duplicate')} (${rows.map(([row, first]) => `row ${row} repeats row ${first}`).join(', ')}${count > rows.length ? ', …' : ''})`,
  sentBefore: 'Texted with this in the last 24 hours',
  sentBeforeText: (count: number, names: string) => `${countText(count)}, by ${names}: they get it again`,
  noPrices: 'not known: no prices are configured',
  startNow: 'now, as fast as the limit of the account allows',
  finishUnknown: 'not known',
  testAbout: 'With its plus. It gets the message of the first row, at the usual cost.',
  testName: (name: string) => `Test of ${name || 'a campaign'}`,
  testSend: 'Send a test to this number',
  testState: (state: string) => `Your test: ${state}.`,
  testSent: (id: string) => `The test is campaign ${id}.`,
  sendAbout: 'When the list is checked, a summary appears here.',
  submit: (isLater: boolean, count: number) =>
    `${isLater ? 'Schedule' : 'Send'} ${counted(count, 'message')}`,
  sending: 'Uploading the list',
  sendingAbout: 'Nothing is sent before all of it has arrived. To cancel leaves nothing behind.',
  cancelled: 'Cancelled. Nothing was stored or sent.',
  created: (count: number) => `The campaign is created: ${recipientsText(count)}.`,
  scheduled: (count: number, start: string) =>
    `The campaign is scheduled: ${recipientsText(count)}, ${start}.`,
  existing: (_count: number) => 'This page has created the campaign already; nothing was sent again.',
  again: 'Send it once more on purpose',
  refusal: (code: Refusal, preview: Preview) =>
    code === 'repeated'
      ? `${capital(REPEATED)}. Nothing was sent.`
      : inPage(`${capital(refusalOfList(code, preview))}. ${remedyOf(code, preview)}.`),
} as const;

type Refusal = NonNullable<Preview['refusal']>['code'];

/** What the server and the library say, in the words of this page. */
function inPage(text: string): string {
  return (
    text
      // A country would not help it.
      .replace(/("[^"\d]*(?:\d[^"\d]*){1,6}" has no calling code).*/, '$1. It may lack digits.')
      .replace('set `duplicates` to `keep`', 'choose “send all” above')
      .replace(
        'Set `duplicates` to `keep` to send all messages, or set `duplicates` to `first`',
        'Choose above to send all messages, or',
      )
      .replace(/Set `country(?:Column)?` to (?:`|")(.*?)(?:`|")/, 'Choose $1 above')
      .replace(/Name (the country .*) with `country`, such as `GB`/, 'Choose $1 above')
      .replace('set `skipInvalid` to leave them out', 'leave them out above')
      .replace(/`maxCost`/, 'the limit of the cost')
      .replace(/\. PRICE_FILE .*? costs/, '')
      .replace('or set `country`', 'or choose a country above')
      .replace(', and name it in `countryColumn`', '')
      .replace(
        /or set `countryColumn`: (column ".*") contains countries/,
        'or choose $1 above, which contains countries',
      )
      .replace(/ To name it, set `(?:toColumn|countryColumn)`.*$/, ' Choose it below.')
      .replace(/ Set `headerLine` to .*$/, '')
      .replace(' To read another one, set `sheet`.', ' Choose another one above.')
      .replace('set `sender` or SENDER_ADDRESS', 'enter one above')
      .replace(/ To refuse them, set NUMBER_KINDS.*$/, '')
  );
}
