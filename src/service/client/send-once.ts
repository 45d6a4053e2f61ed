import type { OptionsInit } from 'got';

/** The options of got with which a request reaches the wire once, on this host: no retry, no redirect, and no response that throws. */
export const SEND_ONCE = {
  retry: { limit: 0, enforceRetryRules: true },
  followRedirect: false,
  throwHttpErrors: false,
  // got would decompress without a limit.
  decompress: false,
  isStream: true,
} as const satisfies OptionsInit;
