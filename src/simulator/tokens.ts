import { createSecretKey } from 'node:crypto';
import { SignJWT } from 'jose';
import type { Random } from '../clock.js';
import type { Settings } from './options.js';

/** The pair as area B spells it. */
export interface TokenPair {
  AccessToken: string;
  RefreshToken: string;
}

/** Whom a session belongs to; its tokens, however often refreshed, are one family and are revoked together. */
export interface Session {
  readonly username: string;
  readonly accountId: string;
  readonly family: number;
}

/** What came of presenting a refresh token. `reused` revokes the family. */
export type Redemption =
  | { readonly kind: 'redeemed'; readonly session: Session }
  | { readonly kind: 'unknown' | 'expired' | 'revoked' | 'reused' };

interface Issued {
  readonly session: Session;
  readonly expiresAt: number;
  used: boolean;
}

/**
 * Issues JSON Web Tokens (RFC 7519, HS256) and knows every one it issued, so looking at a bearer on the way to a send
 * costs one map lookup and no signature check.
 */
export class TokenOffice {
  readonly #key;
  readonly #access = new Map<string, Issued>();
  readonly #refresh = new Map<string, Issued>();
  readonly #revoked = new Set<number>();
  #settings: Settings['tokens'];
  #issued = 0;
  #families = 0;
  reused = 0;

  constructor(settings: Settings['tokens'], random: Random) {
    this.#settings = settings;
    this.#key = createSecretKey(Uint8Array.from({ length: 32 }, () => Math.floor(random() * 256)));
  }

  /** Changes lifetimes from the next token on. */
  configure(settings: Settings['tokens']): void {
    this.#settings = settings;
  }

  openSession(username: string, accountId: string): Session {
    this.#families += 1;
    return { username, accountId, family: this.#families };
  }

  /** A new pair for the session. `now` in ms; the lifetimes run from it. */
  async issue(session: Session, now: number): Promise<TokenPair> {
    this.#forgetExpired(now);
    const { accessLifetimeMs, refreshLifetimeMs } = this.#settings;
    const [AccessToken, RefreshToken] = await Promise.all([
      this.#sign(session, 'access', now, accessLifetimeMs),
      this.#sign(session, 'refresh', now, refreshLifetimeMs),
    ]);
    this.#access.set(AccessToken, { session, expiresAt: now + accessLifetimeMs, used: false });
    this.#refresh.set(RefreshToken, { session, expiresAt: now + refreshLifetimeMs, used: false });
    return { AccessToken, RefreshToken };
  }

  /** The account of a valid access token. */
  accountOf(accessToken: string, now: number): string | undefined {
    const issued = this.#access.get(accessToken);
    if (issued === undefined || now >= issued.expiresAt || this.#revoked.has(issued.session.family))
      return undefined;
    return issued.session.accountId;
  }

  /** Uses a refresh token up. */
  redeem(refreshToken: string, now: number): Redemption {
    const issued = this.#refresh.get(refreshToken);
    if (issued === undefined) return { kind: 'unknown' };
    if (issued.used) {
      this.reused += 1;
      this.#revoked.add(issued.session.family);
      return { kind: 'reused' };
    }
    if (this.#revoked.has(issued.session.family)) return { kind: 'revoked' };
    if (now >= issued.expiresAt) return { kind: 'expired' };
    issued.used = true;
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
    // A NumericDate may have a fraction; compressed lifetimes need it.
    if (this.#settings.withExp) token.setExpirationTime(issuedAt + lifetimeMs / 1000);
    return token.sign(this.#key);
  }

  /** Once in a while, so that days of compressed lifetimes do not fill the memory. */
  #forgetExpired(now: number): void {
    if (this.#issued % 1000 !== 0) return;
    for (const tokens of [this.#access, this.#refresh]) {
      for (const [token, { expiresAt }] of tokens) if (now >= expiresAt) tokens.delete(token);
    }
  }
}
