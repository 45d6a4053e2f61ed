const MAX_LENGTH = 200;

/** Digits that may be a phone number or part of one, also with separators. */
const NUMBERS = /\+?\d(?:[\s().-]{0,2}\d){6,}/g;

/** Runs that may be a key or a token: long, without spaces, and with digits. */
const TOKENS = /\b(?=[\w.~+/=-]*\d)[\w.~+/=-]{20,}|\bBearer\s+\S+/gi;

/**
 * Text from the service, made fit for logs and people: one line of at most 200 characters, without markup and without anything
 * that may be a phone number, a key, or a token. `secrets` are removed too, such as the key and the message of the request.
 */
export function quoteOf(text: string, secrets: readonly string[] = []): string {
  let quote = text.slice(0, 100_000);
  for (const secret of secrets) {
    if (secret === '') continue;
    quote = quote.replaceAll(secret, '…').replaceAll(JSON.stringify(secret).slice(1, -1), '…');
  }
  quote = quote
    .slice(0, 20 * MAX_LENGTH)
    .replace(/<[^>]*>/g, ' ')
    .replace(TOKENS, '…')
    .replace(NUMBERS, '…')
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim();
  return bounded(quote);
}

/** A sentence followed by the service's message, if there is one; at most 200 characters together. */
export function reasonOf(sentence: string, message = '', secrets: readonly string[] = []): string {
  const quote = quoteOf(message, secrets);
  return bounded(quote === '' ? sentence : `${sentence} Its message: ${quote}`);
}

function bounded(text: string): string {
  return text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH - 1)}…` : text;
}
