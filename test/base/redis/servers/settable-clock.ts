import { execFile } from 'node:child_process';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const SOURCE = 'test/base/redis/servers/settable-clock.c';

/** A wall clock that differs from the machine's, for the programs that get it. Their monotonic clocks are the machine's. */
export interface SettableClock {
  /** A program that starts with this environment has the clock. */
  readonly environment: Readonly<Record<string, string>>;
  /** Sets it to so many whole seconds after the machine's, or before if negative. */
  set(seconds: number): Promise<void>;
  /** Makes a program that starts this one with the clock, whatever its environment, and returns its path. */
  wrapped(program: string): Promise<string>;
  /** Removes its files. The programs that have it must have ended. */
  remove(): Promise<void>;
}

/** Whether this machine can set the clock of a program. */
export const canSetClock = (): Promise<boolean> =>
  run('cc', ['--version']).then(
    () => process.platform === 'linux',
    () => false,
  );

/** Makes a clock, which is that of the machine until it is set. Throws an Error if this machine cannot set the clock of a program. */
export async function settableClock(): Promise<SettableClock> {
  if (!(await canSetClock()))
    throw new Error(
      'only Linux with a C compiler can set the clock of a program: apt-get install gcc libc6-dev',
    );
  const dir = await mkdtemp(join(tmpdir(), 'volley-settable-clock-'));
  const [library, offset] = [join(dir, 'clock.so'), join(dir, 'offset')];
  await run('cc', ['-shared', '-fPIC', '-O1', '-o', library, resolve(SOURCE)]);
  const set = (seconds: number): Promise<void> => writeFile(offset, String(seconds));
  await set(0);
  const environment = { LD_PRELOAD: library, CLOCK_OFFSET_FILE: offset };
  return {
    environment,
    set,
    async wrapped(program) {
      const path = join(dir, 'wrapped');
      const assigned = Object.entries(environment).map(([name, value]) => `${name}='${value}'`);
      await writeFile(path, `#!/bin/sh\n${assigned.join(' ')} exec '${program}' "$@"\n`);
      await chmod(path, 0o700);
      return path;
    },
    remove: () => rm(dir, { recursive: true, force: true }),
  };
}
