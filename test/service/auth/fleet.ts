import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { afterAll } from 'vitest';
import type { TokenOutcome } from '../../../src/service/auth/outcome.js';

/** It runs the built package. */
const PROGRAM = resolve('test/service/auth/fleet-member.mjs');

/** A member's settings. */
export interface MemberSettings {
  readonly redisUrl: string;
  readonly prefix: string;
  readonly accountUrl: string;
  readonly username: string;
  readonly password: string;
  readonly requestTimeoutMs: number;
}

/** What `callers` callers of a member do at the same time. */
export interface Order {
  readonly callers: number;
  /** The generation that the service refused; without it the callers ask for a token. */
  readonly refused?: number;
}

/** One real process. */
export interface Member {
  /** The outcomes of all callers of the order. */
  order(order: Order): Promise<TokenOutcome[]>;
  /** Kills it as `kill -9` does. */
  kill(): Promise<void>;
}

/**
 * Returns a function that starts such a process. All that still run are killed when the test file ends that calls this at its top
 * level.
 */
export function fleetStarter(): (settings: MemberSettings) => Promise<Member> {
  const running = new Set<ChildProcess>();
  afterAll(() => {
    for (const child of running) child.kill('SIGKILL');
  });

  return async (settings) => {
    const child = fork(PROGRAM, { env: { ...process.env, FLEET_MEMBER: JSON.stringify(settings) } });
    running.add(child);
    child.once('exit', () => running.delete(child));
    await once(child, 'message');
    return {
      async order(order) {
        const answer = once(child, 'message');
        child.send(order);
        const [outcomes] = await answer;
        return outcomes;
      },
      async kill() {
        const gone = once(child, 'exit');
        child.kill('SIGKILL');
        await gone;
      },
    };
  };
}
