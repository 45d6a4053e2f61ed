/** A sender, its path segment written by hand, and whether the interface page allows it. */
export interface SenderCase {
  readonly sender: string;
  /** Rule 5: the sender as it stands in the path. */
  readonly path: string;
  readonly form: 'number' | 'text' | 'invalid';
  /** A part of each warning of `preview`, besides the one that every text gets. */
  readonly warnings?: readonly string[];
  /** A part of the client's reason and of the simulator's 400, for an invalid sender. */
  readonly reasons?: readonly [client: string, simulator: string];
}

const EMPTY = ['is empty', 'is empty'] as const;
const LONG_NUMBER = ['16 digits: at most 15', 'at most 15'] as const;
const LONG_TEXT = ['at most 11', 'at most 11'] as const;
const LONG_SPELLING = ['Write a phone number as digits only', 'at most 11'] as const;
const FOREIGN = ['GSM 7-bit', 'GSM 7-bit'] as const;
const NO_NUMBER = ['no phone number after "tel:"', 'only a phone number may follow tel:'] as const;
const NO_SEGMENT = ['cannot be written in a URL', 'not a path segment'] as const;
const MAYBE_PLUS = ['may count the plus'];
const MAYBE_LONG = (septets: number) => [`takes ${septets} in the GSM 7-bit alphabet`];
const NO_LETTER = ['has no letter'];
const SPACE = ['begins or ends with a space'];

/** The sender rule as a table, for both ends (interface page, senderAddress rules 1, 4, and 5). */
export const SENDERS: readonly SenderCase[] = [
  // A number has up to 15 digits, with or without a plus, with or without tel: in upper or lower case.
  { sender: '12345', path: '12345', form: 'number' },
  { sender: '+358401234567', path: '%2B358401234567', form: 'number' },
  { sender: '123456789012345', path: '123456789012345', form: 'number' },
  { sender: '+12345678901234', path: '%2B12345678901234', form: 'number' },
  { sender: '+123456789012345', path: '%2B123456789012345', form: 'number', warnings: MAYBE_PLUS },
  { sender: '1234567890123456', path: '1234567890123456', form: 'invalid', reasons: LONG_NUMBER },
  { sender: '+1234567890123456', path: '%2B1234567890123456', form: 'invalid', reasons: LONG_NUMBER },
  { sender: 'tel:16100', path: 'tel%3A16100', form: 'number' },
  { sender: 'tel:+358401234567', path: 'tel%3A%2B358401234567', form: 'number' },
  { sender: 'TEL:+358401234567', path: 'TEL%3A%2B358401234567', form: 'number' },
  { sender: 'Tel:16100', path: 'Tel%3A16100', form: 'number' },
  { sender: 'tel:123456789012345', path: 'tel%3A123456789012345', form: 'number' },
  {
    sender: 'tel:+123456789012345',
    path: 'tel%3A%2B123456789012345',
    form: 'number',
    warnings: MAYBE_PLUS,
  },
  { sender: 'tel:1234567890123456', path: 'tel%3A1234567890123456', form: 'invalid', reasons: LONG_NUMBER },
  { sender: 'tel:', path: 'tel%3A', form: 'invalid', reasons: NO_NUMBER },
  { sender: 'tel:ACME', path: 'tel%3AACME', form: 'invalid', reasons: NO_NUMBER },
  { sender: 'TEL:12 34', path: 'TEL%3A12%2034', form: 'invalid', reasons: NO_NUMBER },

  // A text has up to 11 characters of the GSM 7-bit alphabet.
  { sender: 'A', path: 'A', form: 'text' },
  { sender: 'ACME', path: 'ACME', form: 'text' },
  { sender: 'Acme Shop', path: 'Acme%20Shop', form: 'text' },
  { sender: "O'Brien", path: 'O%27Brien', form: 'text' },
  { sender: "(O'B & Co)!", path: '%28O%27B%20%26%20Co%29%21', form: 'text' },
  { sender: 'Øre & Ære', path: '%C3%98re%20%26%20%C3%86re', form: 'text' },
  {
    sender: 'ΔΦΓΛΩΠΨΣΘΞx',
    path: '%CE%94%CE%A6%CE%93%CE%9B%CE%A9%CE%A0%CE%A8%CE%A3%CE%98%CE%9Ex',
    form: 'text',
  },
  { sender: 'abcdefghijk', path: 'abcdefghijk', form: 'text' },
  { sender: 'abcdefghijkl', path: 'abcdefghijkl', form: 'invalid', reasons: LONG_TEXT },
  { sender: 'Čapek', path: '%C4%8Capek', form: 'invalid', reasons: FOREIGN },
  { sender: 'Łódź', path: '%C5%81%C3%B3d%C5%BA', form: 'invalid', reasons: FOREIGN },
  { sender: 'ACME 😀', path: 'ACME%20%F0%9F%98%80', form: 'invalid', reasons: FOREIGN },
  { sender: 'ACME\u00a0X', path: 'ACME%C2%A0X', form: 'invalid', reasons: FOREIGN },
  { sender: 'AC\nME', path: 'AC%0AME', form: 'invalid', reasons: FOREIGN },
  { sender: 'AC\fME', path: 'AC%0CME', form: 'invalid', reasons: FOREIGN },

  // A character of the extension table is one character.
  { sender: 'Caf[e]', path: 'Caf%5Be%5D', form: 'text' },
  { sender: 'abcdefghi€', path: 'abcdefghi%E2%82%AC', form: 'text' },
  { sender: 'abcdefghij€', path: 'abcdefghij%E2%82%AC', form: 'text', warnings: MAYBE_LONG(12) },
  { sender: 'Nine abc[]{', path: 'Nine%20abc%5B%5D%7B', form: 'text', warnings: MAYBE_LONG(14) },
  { sender: 'abcdefghijk€', path: 'abcdefghijk%E2%82%AC', form: 'invalid', reasons: LONG_TEXT },

  // It needs no letter.
  { sender: '040-1234', path: '040-1234', form: 'text', warnings: NO_LETTER },
  { sender: '+358 40 123', path: '%2B358%2040%20123', form: 'text', warnings: NO_LETTER },
  { sender: '24/7', path: '24%2F7', form: 'text', warnings: NO_LETTER },
  { sender: '...', path: '...', form: 'text', warnings: NO_LETTER },
  { sender: '+358 40 123 456', path: '%2B358%2040%20123%20456', form: 'invalid', reasons: LONG_SPELLING },

  // A space is a character, but a sender has others besides.
  { sender: ' ACME', path: '%20ACME', form: 'text', warnings: SPACE },
  { sender: 'ACME ', path: 'ACME%20', form: 'text', warnings: SPACE },
  { sender: ' ', path: '%20', form: 'invalid', reasons: EMPTY },

  // A URL has no path segment that is one dot or two (RFC 3986, section 5.2.4), not even an encoded one.
  { sender: '.', path: '%2E', form: 'invalid', reasons: NO_SEGMENT },
  { sender: '..', path: '%2E%2E', form: 'invalid', reasons: NO_SEGMENT },
];
