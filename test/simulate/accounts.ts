import type { LoginOutcome } from '../../src/auth/outcome.js';
import type { Process } from './process.js';
import type { LanePlan } from './scenario.js';
import { START } from './server.js';
import { Violation } from './violation.js';
import type { World } from './world.js';

interface Pair {
  readonly access: string;
  readonly refresh: string;
  readonly at: number;
  isRevoked: boolean;
}

/** The account service as one lane's account sees it, and the checker of invariant 6. */
export class Accounts {
  /** Logins that were refused since an operator last said so, of an account that had never been taken. */
  refused = 0;
  logins = 0;
  isPasswordWrong: boolean;
  /** When it last refused something, ms of virtual time. */
  refusedAt = -1;
  readonly #world: World;
  readonly #lifeMs: number;
  readonly #presented = new Set<string>();
  readonly #pairs: Pair[] = [];
  /** Who has heard since then, and in time, that a login was refused. */
  #heard: Process[] = [];
  #mayLogInAgain = false;
  #answersWorse: boolean;

  constructor(world: World, plan: LanePlan) {
    this.#world = world;
    this.#lifeMs = plan.tokenLifeMs;
    this.isPasswordWrong = plan.isPasswordWrong;
    this.#answersWorse = world.scenario.faults.has('service');
  }

  /** An operator has corrected the password, and logs in again. */
  again(): void {
    this.#mayLogInAgain = true;
    this.isPasswordWrong = false;
    this.refused = 0;
    this.#heard = [];
  }

  calm(): void {
    this.#answersWorse = false;
  }

  /** Whether messaging takes this token now. */
  isValid(access: string): boolean {
    const pair = this.#pairs.find((known) => known.access === access);
    return pair !== undefined && !pair.isRevoked && this.#world.clock.now < pair.at + this.#life;
  }

  /** The service withdraws the token in force: the next request is answered 401. */
  revoke(): void {
    const pair = this.#pairs.at(-1);
    if (pair !== undefined) pair.isRevoked = true;
  }

  /** Nothing of this account is taken any more, until an operator has seen to it. */
  block(): void {
    this.isPasswordWrong = true;
    this.revoke();
  }

  login(process: Process): Promise<LoginOutcome> {
    const decide = (): LoginOutcome => {
      if (!this.isPasswordWrong) {
        this.logins += 1;
        if (this.#world.isQuiet && this.logins > 1 && !this.#mayLogInAgain) {
          throw new Violation(6, `${this.logins} logins where nothing went wrong`);
        }
        return this.#newPair();
      }
      this.refused += this.logins === 0 ? 1 : 0;
      this.refusedAt = this.#world.clock.now;
      // Where it was taken before, an answer that nobody hears says nothing against it.
      const known = this.#heard.filter(({ isDead }) => !isDead).length;
      const login = this.logins === 0 ? this.refused : known + 1;
      // What is counted in Redis may be forgotten with all else.
      if (login > 2 && !this.#world.checker.hasLostData)
        throw new Violation(6, `login ${login} with a password that was refused`);
      return { kind: 'badCredential' };
    };
    const heard = ({ kind }: LoginOutcome): void => {
      if (kind === 'badCredential') this.#heard.push(process);
    };
    return this.#answered(process, 'login', decide, heard);
  }

  refresh(process: Process, token: string): Promise<LoginOutcome> {
    if (this.#presented.has(token)) {
      this.#violated(`${process.name} presents the refresh token ${token} again`);
    }
    this.#presented.add(token);
    const pair = this.#pairs.find(({ refresh }) => refresh === token);
    const age = this.#world.clock.now - (pair?.at ?? 0);
    // The life of a token that does not tell is learned from refusals, and kept well clear of.
    const early = this.#lifeMs === 0 ? 0.6 : 0.8;
    if (this.#world.isQuiet && pair !== undefined && !pair.isRevoked && age < early * this.#life) {
      this.#violated(`a refresh after ${age} ms of ${this.#life}, and nothing was refused`);
    }
    return this.#answered(process, 'refresh', () => {
      if (pair !== undefined && !this.isPasswordWrong) return this.#newPair();
      this.refusedAt = this.#world.clock.now;
      return { kind: 'refused', reason: 'unknown' };
    });
  }

  get #life(): number {
    // A token that does not tell must outlive a window: else each finds it ended, and its permits are spent on that.
    return this.#lifeMs === 0 ? 1.7 * this.#world.scenario.config.quotaWindowMs : this.#lifeMs;
  }

  /** Past the code, which would take what is thrown for a request that failed. */
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
    const access = `${encoded({ alg: 'none' })}.${encoded(claims)}.x`;
    const pair: Pair = { access, refresh: `refresh-${serial}`, at: clock.now, isRevoked: false };
    this.#pairs.push(pair);
    return { kind: 'pair', accessToken: access, refreshToken: pair.refresh };
  }

  /** A request that may get lost on either way; who called it off at its timeout hears `noAnswer`. */
  #answered(
    process: Process,
    what: string,
    decide: () => LoginOutcome,
    heard = (_outcome: LoginOutcome): void => {},
  ): Promise<LoginOutcome> {
    const { clock, random, scenario, trace } = this.#world;
    const lateAt = clock.now + scenario.config.requestTimeoutMs;
    const fate = this.#answersWorse
      ? random.weighted([
          [8, 'answered'],
          [1, 'lost'],
          [1, 'unanswered'],
        ])
      : 'answered';
    trace.add(process.name, `${what}: ${fate}`);
    return new Promise((resolve, reject) => {
      const silent: LoginOutcome = { kind: 'noAnswer', reason: 'nothing came back' };
      process.machine.alarm(scenario.config.requestTimeoutMs, () => resolve(silent));
      if (fate === 'lost') return;
      clock.schedule(random.integer(1, scenario.latencyMs), () => {
        try {
          const outcome = decide();
          trace.add('accounts', `${what}: ${outcome.kind}`);
          if (fate !== 'answered') return undefined;
          const answer = (): undefined => {
            if (clock.now < lateAt) heard(outcome);
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

function encoded(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}
