/** The basic GSM 7-bit alphabet (3GPP TS 23.038, section 6.2.1) without line breaks and the escape. */
const GSM_BASIC =
  '@£$¥èéùìòÇØøÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&\'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà';
/** Its extension table (section 6.2.1.1). */
const GSM_EXTENSION = '^{}\\[~]|€';

const gsm = new Set([...GSM_BASIC, ...GSM_EXTENSION]);

const NUMBER = /^(tel:)?\+?\d+$/;

/** Whether the text fits the GSM 7-bit alphabet, which includes line breaks. */
export function isGsm(text: string): boolean {
  for (const character of text)
    if (!gsm.has(character) && character !== '\n' && character !== '\r') return false;
  return true;
}

/** The problem with a sender address by the rules of the send endpoint; undefined if there is none. */
export function senderFault(sender: string): string | undefined {
  if (NUMBER.test(sender)) {
    const digits = sender.replace(/^(tel:)?\+?/, '').length;
    return digits <= 15 ? undefined : 'a numeric senderAddress has at most 15 characters';
  }
  if (sender.startsWith('tel:')) return 'only a phone number may follow tel: in senderAddress';
  const characters = [...sender];
  if (characters.length === 0) return 'senderAddress is empty';
  if (characters.length > 11) return 'an alphanumeric senderAddress has at most 11 characters';
  const foreign = characters.find((character) => !gsm.has(character));
  return foreign === undefined
    ? undefined
    : `senderAddress contains ${foreign}, which is not in the GSM 7-bit alphabet`;
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
