/** How the interface writes a recipient: `tel:` and the international number with its plus (interface page, OutboundRequest). */
export function telAddress(number: string): string {
  return `tel:${number}`;
}

/**
 * The E.164 number, with its plus, that an address of the service means, whatever its spelling: `tel:+…`, `+…`, digits
 * alone, URL-encoded, with visual separators or parameters (RFC 3966). Null if it is no such number.
 */
export function numberOf(address: string): string | null {
  const plain = decoded(address).replace(/[\s().-]/g, '');
  const digits = /^(?:tel:)?(?:\+|00)?([1-9]\d{3,14})(?:;|$)/i.exec(plain)?.[1];
  return digits === undefined ? null : `+${digits}`;
}

/** Text with its percent escapes resolved, or as it stands where they are not valid. */
export function decoded(text: string): string {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
