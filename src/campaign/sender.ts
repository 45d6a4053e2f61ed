import { septetsOf } from './gsm7.js';

/** Limits for a number and for a text (interface page, senderAddress rules, rule 1). */
const MAX_NUMBER_LENGTH = 15;
const MAX_TEXT_LENGTH = 11;

const TEL = 'tel:';

/** The form of a sender that the interface accepts, or why it is invalid and what would be right. */
type SenderCheck = { kind: 'number' } | { kind: 'text' } | { kind: 'invalid'; reason: string };

/** Checks a sender by the interface page's senderAddress rules. Never throws. */
export function checkSender(sender: string): SenderCheck {
  if (sender === '')
    return invalid('The sender is empty: use a phone number or a name of up to 11 characters.');
  if (sender !== sender.trim()) return invalid('The sender begins or ends with a space: remove it.');
  if (sender.startsWith(TEL)) return checkNumber(sender.slice(TEL.length), true);
  return /\p{L}/u.test(sender) ? checkText(sender) : checkNumber(sender, false);
}

function checkNumber(number: string, hasTel: boolean): SenderCheck {
  if (!/^\+?[0-9]+$/.test(number)) {
    return invalid(
      hasTel
        ? 'The sender has no phone number after "tel:": write digits, with a plus in front if the number is international. Write a name without "tel:".'
        : 'The sender is neither a phone number nor a name: write a number as digits, with a plus in front if it is international; a name needs at least one letter.',
    );
  }
  if (number.length > MAX_NUMBER_LENGTH) {
    return invalid(
      `The sender's number has ${number.length} characters: at most ${MAX_NUMBER_LENGTH} are allowed, not counting "tel:".`,
    );
  }
  return { kind: 'number' };
}

function checkText(text: string): SenderCheck {
  const characters = [...text];
  const foreign = [...new Set(characters.filter((character) => septetsOfSender(character) === null))];
  if (foreign.length > 0) {
    return invalid(
      `The sender contains ${foreign.map((character) => JSON.stringify(character)).join(', ')}: a name may only use characters of the GSM 7-bit alphabet, without line breaks.`,
    );
  }
  const length = septetsOf(text) ?? 0;
  if (length > MAX_TEXT_LENGTH) {
    return invalid(
      `The sender takes ${length} characters of the GSM 7-bit alphabet (each of ^ { } \\ [ ~ ] | € counts as two): a name may take at most ${MAX_TEXT_LENGTH}.`,
    );
  }
  return { kind: 'text' };
}

/** The alphabet's control characters (line feed, carriage return, form feed) are not part of a name. */
function septetsOfSender(character: string): number | null {
  return /\p{C}/u.test(character) ? null : septetsOf(character);
}

function invalid(reason: string): SenderCheck {
  return { kind: 'invalid', reason };
}
