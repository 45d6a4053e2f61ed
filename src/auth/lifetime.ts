import { decodeJwt } from 'jose/jwt/decode';

/** The last share of a token's life, in which it is renewed while still in use. */
const MARGIN = 0.15;

/** How long a token lasts from when it was received, in ms. */
export interface Lifetime {
  renewAfterMs: number;
  expiresAfterMs: number;
}

/**
 * Reads `exp` − `iat` of a JWT without verifying it. The difference does not depend on whether the service's clock agrees with
 * ours. Undefined for a token without both (the interface page does not define lifetimes): then a 401 shows that it expired.
 */
export function lifetimeOf(accessToken: string): Lifetime | undefined {
  const { exp, iat } = claimsOf(accessToken);
  if (typeof exp !== 'number' || typeof iat !== 'number') return undefined;
  const life = Math.floor((exp - iat) * 1000);
  if (!Number.isSafeInteger(life) || life <= 0) return undefined;
  return { renewAfterMs: Math.floor(life * (1 - MARGIN)), expiresAfterMs: life };
}

function claimsOf(token: string): { exp?: unknown; iat?: unknown } {
  try {
    return decodeJwt(token);
  } catch {
    return {};
  }
}
