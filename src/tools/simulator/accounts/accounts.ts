import { z } from 'zod';
import { AccountTree, idOf } from '../rules/account-tree.js';
import { drawFault } from '../rules/faults.js';
import type { AccountSettings } from '../rules/options.js';
import { type Activity, ActivityLog } from '../state/activity.js';
import type { Change, Session } from '../state/changes.js';
import type { Simulation } from '../state/simulation.js';
import { effectOf } from '../wire/fault-effects.js';
import { type Answer, failure, type Incoming, isJson, json } from '../wire/wire.js';
import type { TokenIssuer } from './tokens.js';

const loginSchema = z.strictObject({
  username: z.string(),
  password: z.string(),
  targetAccountId: z.string().optional(),
});

type LoginRequest = z.infer<typeof loginSchema>;

/** The result codes of the account interface (area B). */
const BAD_CREDENTIAL = 10126;
const WRONG_TARGET = 10117;
const BLOCKED = 11044;

/** The account interface (area B): logins and refreshes. Its requests do not count against a quota. */
export class Accounts {
  readonly #simulation: Simulation;
  readonly #tokens: TokenIssuer;
  readonly #failures = new Map<string, number>();
  readonly activity = new ActivityLog();
  /** Login and refresh requests, and how many of each were granted a token pair. */
  readonly counts = { logins: 0, loginsGranted: 0, refreshes: 0, refreshesGranted: 0 };

  constructor(simulation: Simulation, tokens: TokenIssuer) {
    this.#simulation = simulation;
    this.#tokens = tokens;
  }

  get #tree(): AccountTree {
    return new AccountTree(this.#simulation.settings.accounts);
  }

  /** Resets the failed logins of all accounts, as a forgot-password reset does for one. */
  unblock(): void {
    this.#failures.clear();
    this.#simulation.record({ kind: 'unblocked' });
  }

  /** Whether the options list the account, or it has been used. */
  has(account: string): boolean {
    return this.#tree.has(account) || this.activity.entries(account).length > 0;
  }

  /** Restores what an earlier simulator recorded. */
  restore(change: Extract<Change, { kind: 'loginFailed' | 'unblocked' | 'activity' }>): void {
    if (change.kind === 'unblocked') this.#failures.clear();
    else if (change.kind === 'activity') this.activity.record(change.activity);
    else this.#failures.set(change.username, (this.#failures.get(change.username) ?? 0) + 1);
  }

  /** Serves a request whose path begins with /api/, arriving at `now` (ms). */
  async handle(request: Incoming, now: number): Promise<Answer> {
    const { method, path, headers } = request;
    const isLogin = path === '/api/login';
    if (!isLogin && path !== '/api/RefreshToken') return failure(404, 'no such resource');
    if (method !== (isLogin ? 'POST' : 'GET'))
      return failure(405, 'use POST for login and GET for RefreshToken');
    if (isLogin) this.counts.logins += 1;
    else this.counts.refreshes += 1;
    if (!isJson(headers)) return failure(400, 'Content-Type must be application/json');
    if (headers['x-requested-with'] !== 'XMLHttpRequest')
      return failure(400, 'X-Requested-With must be XMLHttpRequest');
    const serve = () => (isLogin ? this.#login(request, now) : this.#refresh(request, now));
    const { settings, random } = this.#simulation;
    const fault = drawFault(settings.accountFaults, random);
    if (fault === undefined || (fault === 'loginTimeout' && !isLogin)) return serve();
    if (fault === 'loginTimeout')
      return this.#result(BAD_CREDENTIAL, 'BadCredential: timeout while checking the credentials');
    const effect = effectOf(fault, { now, retryAfterSeconds: settings.faultRetryAfterSeconds });
    if (effect.isProcessed) await serve();
    return effect.answer;
  }

  async #login({ body }: Incoming, now: number): Promise<Answer> {
    const request = readLogin(body);
    if (request === undefined) return failure(400, 'the body must contain username and password');
    const account = this.#simulation.settings.accounts.find(({ username }) => username === request.username);
    const failures = this.#failures.get(request.username) ?? 0;
    const { lockoutAfter } = this.#simulation.settings.tokens;
    if (lockoutAfter !== null && failures >= lockoutAfter) {
      return this.#result(BLOCKED, 'account blocked after multiple failed login attempts');
    }
    if (account === undefined || account.password !== request.password) {
      this.#failures.set(request.username, failures + 1);
      this.#simulation.record({ kind: 'loginFailed', username: request.username });
      return this.#result(BAD_CREDENTIAL, 'BadCredential: username or password not valid');
    }
    const accountId = this.#accountOf(account, request);
    if (accountId === undefined) return this.#result(WRONG_TARGET, 'incorrect value in targetAccountId');
    this.counts.loginsGranted += 1;
    return this.#grant('login', this.#tokens.openSession(request.username, accountId), now);
  }

  async #refresh({ headers }: Incoming, now: number): Promise<Answer> {
    const authorization = headers['x-authorization'];
    if (typeof authorization !== 'string' || !authorization.startsWith('Bearer ')) {
      return failure(401, 'X-Authorization must be "Bearer" followed by the refresh token');
    }
    const redemption = this.#tokens.redeem(authorization.slice('Bearer '.length), now);
    if (redemption.kind !== 'redeemed') return failure(401, `refresh token ${redemption.kind}`);
    this.counts.refreshesGranted += 1;
    return this.#grant('refresh', redemption.session, now);
  }

  /** The account of a login; undefined for an invalid target. Only a reseller may name a target, and only one below its account. */
  #accountOf(account: AccountSettings, { targetAccountId }: LoginRequest): string | undefined {
    if (targetAccountId === undefined) return idOf(account);
    return account.reseller && this.#tree.isBelow(targetAccountId, idOf(account))
      ? targetAccountId
      : undefined;
  }

  async #grant(action: Activity['action'], session: Session, now: number): Promise<Answer> {
    const { username: byUser, accountId: account } = session;
    const user = this.#simulation.settings.accounts.find(({ username }) => username === byUser);
    const activity = {
      at: now,
      account,
      action,
      byUser,
      byAccount: user === undefined ? byUser : idOf(user),
    };
    this.activity.record(activity);
    this.#simulation.record({ kind: 'activity', activity });
    return json(200, await this.#tokens.issue(session, now));
  }

  /** A reply with a result code, in the place that the options choose. */
  #result(code: number, message: string): Answer {
    const { placement, status } = this.#simulation.settings.resultCode;
    switch (placement) {
      case 'resultCode':
        return json(status, { resultCode: code, message });
      case 'error.code':
        return json(status, { error: { code, message } });
      case 'message':
        return json(status, { message: `${code} ${message}` });
      default:
        return placement satisfies never;
    }
  }
}

function readLogin(body: string): LoginRequest | undefined {
  try {
    return loginSchema.safeParse(JSON.parse(body)).data;
  } catch {
    return undefined;
  }
}
