/** The basic GSM 7-bit alphabet (3GPP TS 23.038, section 6.2.1) without line breaks and the escape. */
const GSM_BASIC =
  '@£$¥èéùìòÇØøÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&\'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà';
/** Its extension table (section 6.2.1.1) without the form feed; each of them takes two septets. */
const GSM_EXTENSION = '^{}\\[~]|€';

const basic = new Set(GSM_BASIC);
const extension = new Set(GSM_EXTENSION);

/** Septets of a text in the GSM 7-bit alphabet, with its line breaks; undefined if a character is outside the alphabet. */
export function septets(text: string): number | undefined {
  let count = 0;
  for (const character of text) {
    if (basic.has(character) || character === '\n' || character === '\r') count += 1;
    else if (extension.has(character) || character === '\f') count += 2;
    else return undefined;
  }
  return count;
}

const NUMBER = /^(?:tel:)?\+?(\d+)$/i;

/**
 * The problem with a sender address by the rules of the send endpoint; undefined if there is none. A number has up to 15
 * digits, and a plus is not counted; a text has up to 11 characters, and one of the extension table is one character.
 */
export function senderFault(sender: string): string | undefined {
  const digits = NUMBER.exec(sender)?.[1];
  if (digits !== undefined) {
    return digits.length <= 15 ? undefined : 'a numeric senderAddress has at most 15 characters';
  }
  if (/^tel:/i.test(sender)) return 'only a phone number may follow tel: in senderAddress';
  if (sender.trim() === '') return 'senderAddress is empty';
  const characters = [...sender];
  const foreign = characters.find((character) => !basic.has(character) && !extension.has(character));
  if (foreign !== undefined)
    return `senderAddress contains ${foreign}, which is not in the GSM 7-bit alphabet`;
  if (characters.length > 11) return 'an alphanumeric senderAddress has at most 11 characters';
  return sender === '.' || sender === '..' ? 'senderAddress is not a path segment' : undefined;
}

/** A sender without the optional `tel:`, as path and body are compared. */
export function withoutTel(sender: string): string {
  return sender.replace(/^tel:/i, '');
}

/** The sender as a path segment: everything is encoded except letters, digits, and - . _ ~ (rule 5). */
export function encodeSender(sender: string): string {
  return encodeURIComponent(sender).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/**
 * Decodes the sender in a path. Returns undefined unless it follows rule 5 of the send endpoint: everything except letters,
 * digits, and - . _ ~ is URL-encoded; only the colon of `tel:` and the plus sign may be literal.
 */
export function decodeSender(segment: string): string | undefined {
  if (!/^(?:[A-Za-z0-9._~:+-]|%[0-9A-Fa-f]{2})+$/.test(segment)) return undefined;
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}
