import { type ChildProcess, execFile, fork } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll } from 'vitest';
import type { TokenOutcome } from '../../../src/service/auth/outcome.js';
import type { MemberSettings, Order } from './fleet-member.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));

/** One real process. */
export interface Member {
  /** The outcomes of all callers of the order. */
  order(order: Order): Promise<TokenOutcome[]>;
  /** Kills it as `kill -9` does. */
  kill(): Promise<void>;
}

/**
 * Compiles `fleet-member.ts` once for the test file that calls this at its top level. Returns a function that starts such a
 * process. All processes that still run are killed when the file ends.
 */
export function fleetStarter(): (settings: MemberSettings) => Promise<Member> {
  let out = '';
  const running = new Set<ChildProcess>();

  beforeAll(async () => {
    // Below node_modules, so that the compiled files find their packages.
    const cache = join(root, 'node_modules', '.cache');
    await mkdir(cache, { recursive: true });
    out = await mkdtemp(join(cache, 'volley-fleet-'));
    await writeFile(join(out, 'package.json'), '{ "type": "module" }');
    const config = join(root, 'test/service/auth/tsconfig.fleet.json');
    await promisify(execFile)(join(root, 'node_modules/.bin/tsc'), ['-p', config, '--outDir', out]);
    const compiled = (source: string): boolean => !/\.ts$/.test(source);
    for (const folder of ['src/service/auth', 'src/base/redis']) {
      await cp(join(root, folder), join(out, folder), { recursive: true, filter: compiled });
    }
  });
  afterAll(async () => {
    for (const child of running) child.kill('SIGKILL');
    await rm(out, { recursive: true, force: true });
  });

  return async (settings) => {
    const child = fork(join(out, 'test/service/auth/fleet-member.js'), {
      env: { ...process.env, FLEET_MEMBER: JSON.stringify(settings) },
    });
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
