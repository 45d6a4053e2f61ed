import type { TokenCache } from '../../../src/service/auth/token-cache.js';
import type { LoginOutcome } from '../../../src/service/login-outcome.js';

/** A JWT with these claims, as a service would sign it. */
export function jwt(claims: Record<string, unknown>): string {
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${part({ alg: 'HS256', typ: 'JWT' })}.${part(claims)}.${part('signature')}`;
}

/** An account service in memory that counts its requests. Set `loginEnds` or `refreshEnds` for other outcomes. */
export interface AccountService {
  lifeMs: number | undefined;
  latencyMs: number;
  logins: number;
  /** Every refresh token presented, in order. */
  presented: string[];
  loginEnds: LoginOutcome | undefined;
  refreshEnds: LoginOutcome | undefined;
  login: () => Promise<LoginOutcome>;
  refresh: (refreshToken: string) => Promise<LoginOutcome>;
}

/** A service whose tokens last for `lifeMs`; undefined: tokens without an expiry. */
export function accountService(lifeMs: number | undefined = 60_000): AccountService {
  let serial = 0;
  const pair = (): LoginOutcome => {
    serial += 1;
    // The service's clock is a day off: only the difference may matter.
    const iat = Date.now() / 1000 - 86_400;
    const times = service.lifeMs === undefined ? {} : { iat, exp: iat + service.lifeMs / 1000 };
    return {
      kind: 'pair',
      accessToken: jwt({ serial, ...times }),
      refreshToken: `refresh-${serial}`,
    };
  };
  const served = async (ending: LoginOutcome | undefined): Promise<LoginOutcome> => {
    if (service.latencyMs > 0) await new Promise((resolve) => setTimeout(resolve, service.latencyMs));
    return ending ?? pair();
  };
  const service: AccountService = {
    lifeMs,
    latencyMs: 0,
    logins: 0,
    presented: [],
    loginEnds: undefined,
    refreshEnds: undefined,
    login() {
      service.logins += 1;
      return served(service.loginEnds);
    },
    refresh(refreshToken) {
      service.presented.push(refreshToken);
      return served(service.refreshEnds);
    },
  };
  return service;
}

/** The serial number of the pair that a token belongs to. */
export function serialOf(token: string): unknown {
  const claims: unknown = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
  return typeof claims === 'object' && claims !== null && 'serial' in claims ? claims.serial : undefined;
}

/** The token's serial number and generation; fails on any other outcome. */
export async function tokenFrom(outcome: ReturnType<TokenCache['get']>) {
  const got = await outcome;
  if (got.kind !== 'token') throw new Error(`no token: ${got.kind}: ${got.reason}`);
  return { serial: serialOf(got.token), generation: got.generation };
}

/** The reason why the account is stopped; fails on any other outcome. */
export async function stopFrom(outcome: ReturnType<TokenCache['get']>): Promise<string> {
  const got = await outcome;
  if (got.kind !== 'stopped') throw new Error(`not stopped: ${got.kind}`);
  return got.reason;
}

/** A login that the test answers when it wants to. */
export function slowLogin() {
  let answer: ((outcome: LoginOutcome) => void) | undefined;
  return {
    login: () =>
      new Promise<LoginOutcome>((resolve) => {
        answer = resolve;
      }),
    isRequested: () => answer !== undefined,
    answer: () => answer?.({ kind: 'pair', accessToken: jwt({ serial: 'slow' }), refreshToken: 'slow' }),
  };
}
