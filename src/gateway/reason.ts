const LONGEST = 200;

/** Digits that may be a phone number or a part of one, also with separators between them. */
const NUMBERS = /\+?\d(?:[\s().-]{0,2}\d){6,}/g;

/** Runs that may be a key or a token: long, without a space, of more than letters. */
const TOKENS = /\b(?=[\w.~+/=-]*\d)[\w.~+/=-]{20,}|\bBearer\s+\S+/gi;

/**
 * What the service said, fit for a log and a person's eye: one line, without markup, bounded to 200 characters, and
 * without anything that may be a phone number, a key or a token. `secrets` are texts that must not appear either, such
 * as the key and the message of the request that was answered.
 */
export function quoteOf(text: string, secrets: readonly string[] = []): string {
  let quote = text.slice(0, 100_000);
  for (const secret of secrets) {
    if (secret === '') continue;
    quote = quote.replaceAll(secret, '…').replaceAll(JSON.stringify(secret).slice(1, -1), '…');
  }
  quote = quote
    .slice(0, 20 * LONGEST)
    .replace(/<[^>]*>/g, ' ')
    .replace(TOKENS, '…')
    .replace(NUMBERS, '…')
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim();
  return quote.length > LONGEST ? `${quote.slice(0, LONGEST - 1)}…` : quote;
}

/** A sentence, and after it what the service said, if anything; both within 200 characters. */
export function reasonOf(sentence: string, said = '', secrets: readonly string[] = []): string {
  const quote = quoteOf(said, secrets);
  const reason = quote === '' ? sentence : `${sentence} It said: ${quote}`;
  return reason.length > LONGEST ? `${reason.slice(0, LONGEST - 1)}…` : reason;
}
