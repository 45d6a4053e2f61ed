import type { LoginOutcome } from '../../../src/service/login-outcome.js';
import type { Process } from '../process/process.js';
import type { RandomStream } from '../random.js';
import type { LanePlan } from '../scenario/scenario.js';
import { START } from '../server/server.js';
import { Violation } from '../violation.js';
import type { World } from '../world.js';

interface Pair {
  readonly access: string;
  readonly refresh: string;
  readonly at: number;
  isRevoked: boolean;
}

/** The account service for one lane's account; it also checks invariant 6. */
export class Accounts {
  /** Refused logins since an operator last corrected the password; counted only until the first successful login. */
  refused = 0;
  logins = 0;
  isPasswordWrong: boolean;
  /** When it last refused something, ms of virtual time. */
  refusedAt = -1;
  readonly #world: World;
  readonly #random: RandomStream;
  readonly #lifeMs: number;
  readonly #presented = new Set<string>();
  readonly #pairs: Pair[] = [];
  /** The processes that have received, in time, a refusal decided since then, or since the last successful login. */
  #informed: Process[] = [];
  /** The process through which an operator logs in again, until its request leaves. */
  #reopening: Process | undefined;
  #mayLogInAgain = false;
  /** 401s that no early refresh has followed yet. */
  #refusals = 0;
  #isFaulty: boolean;

  constructor(world: World, plan: LanePlan) {
    this.#world = world;
    this.#random = world.streams(`accounts of ${plan.settings.name}`);
    this.#lifeMs = plan.tokenLifeMs;
    this.isPasswordWrong = plan.isPasswordWrong;
    this.#isFaulty = world.scenario.faults.has('service');
  }

  /** An operator corrects the password. */
  correctPassword(): void {
    this.#mayLogInAgain = true;
    this.isPasswordWrong = false;
    this.refused = 0;
    this.#informed = [];
  }

  calm(): void {
    this.#isFaulty = false;
  }

  /** An operator logs in again through a process, which opens the login budget again as its request leaves; `false`: that has ended. */
  logsInAgain(process: Process, isBegun: boolean): void {
    this.#reopening = isBegun ? process : undefined;
  }

  /** Whether the messaging service accepts this token now. */
  isValid(access: string): boolean {
    const pair = this.#pairs.find((known) => known.access === access);
    const isValid = pair !== undefined && !pair.isRevoked && this.#world.clock.now < pair.at + this.#life;
    if (!isValid) this.#refusals += 1;
    return isValid;
  }

  /** The service revokes the current token: the next request gets a 401. */
  revoke(): void {
    const pair = this.#pairs.at(-1);
    if (pair !== undefined) pair.isRevoked = true;
  }

  /** The service refuses the account's token and password until an operator corrects the password. */
  block(): void {
    this.isPasswordWrong = true;
    this.revoke();
  }

  login(process: Process): Promise<LoginOutcome> {
    if (process === this.#reopening) {
      this.#reopening = undefined;
      this.refused = 0;
      this.#informed = [];
    }
    let informed = this.#informed;
    const decide = (): LoginOutcome => {
      if (!this.isPasswordWrong) {
        this.logins += 1;
        this.#informed = [];
        if (this.#world.isQuiet && this.logins > 1 && !this.#mayLogInAgain) {
          throw new Violation(6, `${this.logins} logins although there were no faults`);
        }
        return this.#newPair();
      }
      this.refused += this.logins === 0 ? 1 : 0;
      this.refusedAt = this.#world.clock.now;
      // After a successful login, only refusals that reached a live process count against the password.
      informed = this.#informed;
      const login = this.logins === 0 ? this.refused : informed.filter(({ isDead }) => !isDead).length + 1;
      // The count in Redis may be lost along with other data.
      if (login > 2 && !this.#world.checker.hasLostData)
        throw new Violation(6, `login number ${login} with a refused password`);
      return { kind: 'badCredential' };
    };
    const onReceived = ({ kind }: LoginOutcome): void => {
      if (kind === 'badCredential') informed.push(process);
    };
    return this.#request(process, 'login', decide, onReceived);
  }

  refresh(process: Process, token: string): Promise<LoginOutcome> {
    if (this.#presented.has(token)) {
      this.#violated(`${process.name} presents the refresh token ${token} again`);
    }
    this.#presented.add(token);
    const pair = this.#pairs.find(({ refresh }) => refresh === token);
    const age = this.#world.clock.now - (pair?.at ?? 0);
    // The lifetime of a token without an expiry is learned from refusals and used with a wide margin.
    const early = this.#lifeMs === 0 ? 0.6 : 0.8;
    if (this.#world.isQuiet && pair !== undefined && !pair.isRevoked && age < early * this.#life) {
      // After a 401, the next request carries a fresh token, however late it comes.
      if (this.#refusals === 0)
        this.#violated(`a refresh after ${age} ms of ${this.#life} ms, without a refusal`);
      this.#refusals -= 1;
    }
    return this.#request(process, 'refresh', () => {
      if (pair !== undefined && !this.isPasswordWrong) return this.#newPair();
      this.refusedAt = this.#world.clock.now;
      return { kind: 'refused', reason: 'unknown' };
    });
  }

  get #life(): number {
    // A token without an expiry must outlive a window; otherwise 401s would use up the permits of every window.
    return this.#lifeMs === 0 ? 1.7 * this.#world.scenario.config.quotaWindowMs : this.#lifeMs;
  }

  /** Fails the world directly, because the code under test would treat an exception as a failed request. */
  #violated(message: string): never {
    const violation = new Violation(6, message);
    this.#world.fail(violation);
    throw violation;
  }

  #newPair(): LoginOutcome {
    const { clock } = this.#world;
    const serial = this.#pairs.length + 1;
    const seconds = Math.floor((START + clock.now) / 1000);
    const claims = {
      serial,
      ...(this.#lifeMs === 0 ? {} : { iat: seconds, exp: seconds + this.#lifeMs / 1000 }),
    };
    const access = `${base64url({ alg: 'none' })}.${base64url(claims)}.x`;
    const pair: Pair = { access, refresh: `refresh-${serial}`, at: clock.now, isRevoked: false };
    this.#pairs.push(pair);
    return { kind: 'pair', accessToken: access, refreshToken: pair.refresh };
  }

  /** A request that may get lost in either direction; the process then gets `noAnswer` at its timeout. */
  #request(
    process: Process,
    what: string,
    decide: () => LoginOutcome,
    onReceived = (_outcome: LoginOutcome): void => {},
  ): Promise<LoginOutcome> {
    const { clock, scenario, trace } = this.#world;
    const random = this.#random;
    const { requestTimeoutMs } = process.config;
    const lateAt = clock.now + requestTimeoutMs;
    const fate = this.#isFaulty
      ? random.weighted([
          [8, 'answered'],
          [1, 'lost'],
          [1, 'unanswered'],
        ])
      : 'answered';
    trace.add(process.name, `${what}: ${fate}`);
    return new Promise((resolve, reject) => {
      const silent: LoginOutcome = { kind: 'noAnswer', reason: 'nothing came back' };
      process.machine.alarm(requestTimeoutMs, () => resolve(silent));
      if (fate === 'lost') return;
      clock.schedule(random.integer(1, scenario.latencyMs), () => {
        try {
          const outcome = decide();
          trace.add('accounts', `${what}: ${outcome.kind}`);
          if (fate !== 'answered') return undefined;
          const answer = (): undefined => {
            if (clock.now < lateAt) onReceived(outcome);
            return void resolve(outcome);
          };
          clock.schedule(random.integer(1, scenario.latencyMs), answer, process);
        } catch (error) {
          this.#world.fail(error);
          reject(error);
        }
        return undefined;
      });
    });
  }
}

function base64url(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}
