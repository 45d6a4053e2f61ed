import { decodeJwt } from 'jose';

/** The last share of a token's life, in which it is renewed while it is still used. */
const MARGIN = 0.15;

/** How long a token lasts, counted from when it was received, in ms. */
export interface Lifetime {
  renewAfterMs: number;
  expiresAfterMs: number;
}

/**
 * Reads `exp` − `iat` of a JWT without verifying it: the token is not ours to judge. The difference does not depend
 * on whether the service's clock agrees with ours. Undefined when the token does not say (the interface page leaves
 * lifetimes open): then only a 401 tells its end.
 */
export function lifetimeOf(accessToken: string): Lifetime | undefined {
  const { exp, iat } = claimsOf(accessToken);
  if (exp === undefined || iat === undefined) return undefined;
  const life = Math.floor((exp - iat) * 1000);
  if (!Number.isSafeInteger(life) || life <= 0) return undefined;
  return { renewAfterMs: Math.floor(life * (1 - MARGIN)), expiresAfterMs: life };
}

function claimsOf(token: string): { exp?: number | undefined; iat?: number | undefined } {
  try {
    const { exp, iat } = decodeJwt(token);
    return {
      exp: typeof exp === 'number' ? exp : undefined,
      iat: typeof iat === 'number' ? iat : undefined,
    };
  } catch {
    return {};
  }
}
