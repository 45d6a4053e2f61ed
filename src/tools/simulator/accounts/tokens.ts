import { createSecretKey } from 'node:crypto';
import { SignJWT } from 'jose';
import type { Change, Session } from '../state/changes.js';
import type { Simulation } from '../state/simulation.js';

/** A token pair, with the field names of the interface. */
export interface TokenPair {
  AccessToken: string;
  RefreshToken: string;
}

/** The result of presenting a refresh token. `reused` revokes the family. */
export type Redemption =
  | { readonly kind: 'redeemed'; readonly session: Session }
  | { readonly kind: 'unknown' | 'expired' | 'revoked' | 'reused' };

type IssuedTokens = Omit<Extract<Change, { kind: 'tokens' }>, 'kind'>;

interface Issued {
  readonly session: Session;
  readonly expiresAt: number;
  used: boolean;
}

/**
 * Issues JSON Web Tokens (RFC 7519, HS256) and stores them, so that checking a token takes a map lookup instead of a
 * signature check.
 */
export class TokenIssuer {
  readonly #key;
  readonly #access = new Map<string, Issued>();
  readonly #refresh = new Map<string, Issued>();
  readonly #revoked = new Set<number>();
  readonly #simulation: Simulation;
  #issued = 0;
  #families = 0;
  reused = 0;

  constructor(simulation: Simulation) {
    this.#simulation = simulation;
    const { random } = simulation;
    this.#key = createSecretKey(Uint8Array.from({ length: 32 }, () => Math.floor(random() * 256)));
  }

  openSession(username: string, accountId: string): Session {
    this.#families += 1;
    return { username, accountId, family: this.#families };
  }

  /** Issues a token pair for the session. Its lifetimes start at `now` (ms). */
  async issue(session: Session, now: number): Promise<TokenPair> {
    this.#removeExpired(now);
    const { accessLifetimeMs, refreshLifetimeMs } = this.#simulation.settings.tokens;
    const [AccessToken, RefreshToken] = await Promise.all([
      this.#sign(session, 'access', now, accessLifetimeMs),
      this.#sign(session, 'refresh', now, refreshLifetimeMs),
    ]);
    const issued: IssuedTokens = {
      session,
      access: AccessToken,
      accessExpiresAt: now + accessLifetimeMs,
      refresh: RefreshToken,
      refreshExpiresAt: now + refreshLifetimeMs,
    };
    this.#store(issued);
    this.#simulation.record({ kind: 'tokens', ...issued });
    return { AccessToken, RefreshToken };
  }

  /** Restores what an earlier simulator recorded. */
  restore(change: Extract<Change, { kind: 'tokens' | 'redeemed' | 'revoked' }>): void {
    switch (change.kind) {
      case 'tokens':
        this.#store(change);
        this.#issued += 2;
        this.#families = Math.max(this.#families, change.session.family);
        break;
      case 'redeemed': {
        const issued = this.#refresh.get(change.refresh);
        if (issued !== undefined) issued.used = true;
        break;
      }
      case 'revoked':
        this.#revoked.add(change.family);
        break;
      default:
        change satisfies never;
    }
  }

  #store({ session, access, accessExpiresAt, refresh, refreshExpiresAt }: IssuedTokens): void {
    this.#access.set(access, { session, expiresAt: accessExpiresAt, used: false });
    this.#refresh.set(refresh, { session, expiresAt: refreshExpiresAt, used: false });
  }

  /** The account of a valid access token; undefined for any other. */
  accountOf(accessToken: string, now: number): string | undefined {
    const issued = this.#access.get(accessToken);
    if (issued === undefined || now >= issued.expiresAt || this.#revoked.has(issued.session.family))
      return undefined;
    return issued.session.accountId;
  }

  /** Uses up a refresh token. */
  redeem(refreshToken: string, now: number): Redemption {
    const issued = this.#refresh.get(refreshToken);
    if (issued === undefined) return { kind: 'unknown' };
    if (issued.used) {
      this.reused += 1;
      this.#revoked.add(issued.session.family);
      this.#simulation.record({ kind: 'revoked', family: issued.session.family });
      return { kind: 'reused' };
    }
    if (this.#revoked.has(issued.session.family)) return { kind: 'revoked' };
    if (now >= issued.expiresAt) return { kind: 'expired' };
    issued.used = true;
    this.#simulation.record({ kind: 'redeemed', refresh: refreshToken });
    return { kind: 'redeemed', session: issued.session };
  }

  #sign({ username, accountId }: Session, use: string, now: number, lifetimeMs: number): Promise<string> {
    this.#issued += 1;
    const issuedAt = Math.floor(now / 1000);
    const token = new SignJWT({ account: accountId, use })
      .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
      .setIssuer('simulator')
      .setSubject(username)
      .setJti(String(this.#issued))
      .setIssuedAt(issuedAt);
    // A NumericDate may have a fraction, which short test lifetimes need.
    if (this.#simulation.settings.tokens.withExp) token.setExpirationTime(issuedAt + lifetimeMs / 1000);
    return token.sign(this.#key);
  }

  /** Removes expired tokens now and then, so that long runs with short lifetimes do not fill the memory. */
  #removeExpired(now: number): void {
    if (this.#issued % 1000 !== 0) return;
    for (const tokens of [this.#access, this.#refresh]) {
      for (const [token, { expiresAt }] of tokens) if (now >= expiresAt) tokens.delete(token);
    }
  }
}
