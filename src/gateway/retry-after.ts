/** A whole number of seconds, the first of the two forms of a `Retry-After` (RFC 9110, section 10.2.3). */
const SECONDS = /^\d{1,12}$/;

/** How every form of an HTTP date begins (RFC 9110, section 5.6.7); keeps `Date.parse` from guessing at other text. */
const HTTP_DATE = /^(mon|tues?|wed(nes)?|thu(rs)?|fri|sat(ur)?|sun)(day)?,? /i;

/** The one form of an HTTP date without a time zone; it means UTC as well. */
const WITHOUT_ZONE = /\d{4}$/;

/**
 * How long the service asks clients to wait, in milliseconds from `now` (ms since the epoch); never negative. `header` is the
 * value of `Retry-After`: seconds or an HTTP date. Null if there is none or it is neither; the caller then uses its own backoff.
 */
export function retryAfterMs(header: string | undefined, now: number): number | null {
  const text = header?.trim() ?? '';
  if (SECONDS.test(text)) return Number(text) * 1000;
  if (!HTTP_DATE.test(text)) return null;
  const at = Date.parse(WITHOUT_ZONE.test(text) && !text.includes(',') ? `${text} GMT` : text);
  return Number.isNaN(at) ? null : Math.max(0, at - now);
}
