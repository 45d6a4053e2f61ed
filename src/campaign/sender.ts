/**
 * The GSM 7-bit default alphabet without its control characters (3GPP TS 23.038, section 6.2.1).
 * Each of these takes one of a text sender's characters.
 */
const GSM_BASIC = new Set(
  '@£$¥èéùìòÇØøÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&\'()*+,-./0123456789:;<=>?' +
    '¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà',
);

/** Characters of the alphabet's extension table (section 6.2.1.1): an escape and a character, so each counts as two. */
const GSM_EXTENSION = new Set('^{}\\[~]|€');

/** A number of up to 15 characters; a text of up to 11 (interface page, senderAddress rules, rule 1). */
const NUMBER_LIMIT = 15;
const TEXT_LIMIT = 11;

const TEL = 'tel:';

/** A sender the interface takes, by its form; or why it does not, and what would be right. */
export type SenderCheck = { kind: 'number' } | { kind: 'text' } | { kind: 'invalid'; reason: string };

/** Holds a sender against the interface page's senderAddress rules. Never throws. */
export function checkSender(sender: string): SenderCheck {
  if (sender === '') return invalid('The sender is empty: give a number or a text of up to 11 characters.');
  if (sender !== sender.trim()) return invalid('The sender begins or ends with a space: leave it out.');
  if (sender.startsWith(TEL)) return checkNumber(sender.slice(TEL.length), true);
  return /\p{L}/u.test(sender) ? checkText(sender) : checkNumber(sender, false);
}

function checkNumber(number: string, prefixed: boolean): SenderCheck {
  if (!/^\+?[0-9]+$/.test(number)) {
    return invalid(
      prefixed
        ? 'After "tel:" comes a phone number: digits, with a plus in front if it is international. A text sender goes without "tel:".'
        : 'The sender is neither a number nor a text: write a number as digits, with a plus in front if it is international; a text needs a letter.',
    );
  }
  if (number.length > NUMBER_LIMIT) {
    return invalid(
      `The sender's number has ${number.length} characters: at most ${NUMBER_LIMIT} are allowed, "tel:" not counted.`,
    );
  }
  return { kind: 'number' };
}

function checkText(text: string): SenderCheck {
  const characters = [...text];
  const foreign = [...new Set(characters.filter((c) => !GSM_BASIC.has(c) && !GSM_EXTENSION.has(c)))];
  if (foreign.length > 0) {
    return invalid(
      `A text sender is written in the GSM 7-bit alphabet, which lacks ${foreign.map((c) => JSON.stringify(c)).join(', ')}: use other characters.`,
    );
  }
  const length = characters.reduce((sum, c) => sum + (GSM_EXTENSION.has(c) ? 2 : 1), 0);
  if (length > TEXT_LIMIT) {
    return invalid(
      `The sender takes ${length} characters of the GSM 7-bit alphabet (each of ^ { } \\ [ ~ ] | € counts as two): a text sender may take at most ${TEXT_LIMIT}.`,
    );
  }
  return { kind: 'text' };
}

function invalid(reason: string): SenderCheck {
  return { kind: 'invalid', reason };
}
