import { septetsOf } from './gsm7.js';

/*
 * The sender rule (interface page, senderAddress, rules 1, 4, and 5):
 *
 *   number   up to 15 digits, with or without a plus, with or without `tel:` in upper or lower case
 *   text     up to 11 characters of the GSM 7-bit alphabet; it needs no letter, and a character of the extension table is one
 *            character
 *
 * Everything else is invalid. So is what no request can carry or no phone can show: a text that is blank or has control
 * characters, `.` and `..` (URLs have no such path segments), and a text after `tel:`, which announces a number.
 *
 * test/interface/senders.ts is the table of cases for this rule and for that of the simulator.
 */
const MAX_DIGITS = 15;
const MAX_TEXT_LENGTH = 11;

const TEL = /^tel:/i;
const LETTER = /\p{L}/u;
const NUMBER = /^(?:tel:)?\+?(?<digits>[0-9]+)$/i;

/** The form of a sender that the interface accepts, or why it is invalid and what would be right. */
type SenderCheck = { kind: 'number' } | { kind: 'text' } | { kind: 'invalid'; reason: string };

/** Checks a sender by the rule above. Never throws. */
export function checkSender(sender: string): SenderCheck {
  if (sender.trim() === '')
    return invalid('The sender is empty: use a phone number or a name of up to 11 characters.');
  const digits = NUMBER.exec(sender)?.groups?.['digits'];
  if (digits !== undefined && digits.length <= MAX_DIGITS) return { kind: 'number' };
  if (digits !== undefined)
    return invalid(`The sender's number has ${digits.length} digits: at most ${MAX_DIGITS} are allowed.`);
  if (TEL.test(sender))
    return invalid(
      'The sender has no phone number after "tel:": write digits, with a plus in front if the number is international. Write a name without "tel:".',
    );
  return checkText(sender);
}

/**
 * What to know about a valid sender before sending: whether a service that counts or reads more strictly than the interface page
 * might refuse it, and what a name means for the recipients. Empty for an ordinary number.
 */
export function senderWarnings(sender: string): string[] {
  const check = checkSender(sender);
  if (check.kind === 'invalid') return [];
  if (check.kind === 'number') {
    const length = sender.replace(TEL, '').length;
    if (length <= MAX_DIGITS) return [];
    return [
      `The sender has 15 digits and a plus. The service allows 15 characters, and may count the plus as one: if it refuses the sender, write the number without the plus.`,
    ];
  }
  const septets = septetsOf(sender) ?? 0;
  return [
    ...(septets <= MAX_TEXT_LENGTH
      ? []
      : [
          `The sender has ${[...sender].length} characters, but takes ${septets} in the GSM 7-bit alphabet (each of ^ { } \\ [ ~ ] | € takes two). A service that counts them so allows 11 and refuses it.`,
        ]),
    ...(LETTER.test(sender)
      ? []
      : ['The sender has no letter. A service may read it as an invalid phone number and refuse it.']),
    ...(sender === sender.trim() ? [] : ['The sender begins or ends with a space.']),
    'The sender is a name. Most networks accept only phone numbers and short codes, and recipients cannot reply to a name.',
  ];
}

function checkText(text: string): SenderCheck {
  const characters = [...text];
  const foreign = [...new Set(characters.filter((character) => !isShown(character)))];
  if (foreign.length > 0)
    return invalid(
      `The sender contains ${foreign.map((character) => JSON.stringify(character)).join(', ')}: a name may only use characters of the GSM 7-bit alphabet, without line breaks.`,
    );
  if (characters.length > MAX_TEXT_LENGTH) {
    const hint = LETTER.test(text) ? '' : ' Write a phone number as digits only, with or without a plus.';
    return invalid(
      `The sender has ${characters.length} characters: a name may have at most ${MAX_TEXT_LENGTH}.${hint}`,
    );
  }
  if (text === '.' || text === '..')
    return invalid(`The sender ${JSON.stringify(text)} cannot be written in a URL: add another character.`);
  return { kind: 'text' };
}

/** The alphabet's control characters (line feed, carriage return, form feed) are not part of a name. */
const isShown = (character: string): boolean => !/\p{C}/u.test(character) && septetsOf(character) !== null;

const invalid = (reason: string): SenderCheck => ({ kind: 'invalid', reason });
