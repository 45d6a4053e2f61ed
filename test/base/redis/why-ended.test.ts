import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { whyEnded } from '../../../src/base/redis/why-ended.js';
import { lostRedis } from '../../../src/surfaces/cli/machine/lost-redis.js';

const STARTING = '7:C 23 Nov 2026 22:00:00.000 # oO0OoO0OoO0Oo Redis is starting oO0OoO0OoO0Oo';
const READY = '7:M 23 Nov 2026 22:00:00.100 * Ready to accept connections';
const exited = { code: 1, signal: null };

/** The folder of a server with this log. */
function withLog(...lines: readonly string[]): string {
  const dir = mkdtempSync(join(tmpdir(), 'volley-ended-'));
  writeFileSync(join(dir, 'redis.log'), `${lines.join('\n')}\n`);
  return dir;
}

test.each([
  [
    "7:M # Short write while writing to the AOF file: (nwritten=2176, expected=2782)\n7:M # Can't recover from AOF write error when the AOF fsync policy is 'always'. Exiting...",
  ],
  ['7:M # Error writing to the AOF file: No space left on device'],
])('A server whose log says %j has ended because its disk is full', async (line) => {
  const dir = withLog(STARTING, READY, line);
  const why = await whyEnded(dir, exited);
  expect(why).toEqual({ cause: 'diskFull' });
  const { message, code } = lostRedis(dir, why, 'volley up');
  expect(message).toMatch(
    /^The disk of .* is full, so its Redis cannot store anything\. .* Free space there, then run: volley up$/,
  );
  expect(code).toBe('failed');
});

test('What an earlier run has logged does not explain the end of this one', async () => {
  const dir = withLog(
    STARTING,
    '7:M # Error writing to the AOF file: No space left on device',
    STARTING,
    READY,
  );
  expect(await whyEnded(dir, { code: null, signal: 'SIGKILL' })).toEqual({
    cause: 'killed',
    signal: 'SIGKILL',
  });
  const why = await whyEnded(dir, exited);
  expect(why).toEqual({ cause: 'other', lastLine: READY });
  expect(lostRedis(dir, why, 'volley up').message).toContain(
    `Its log ends with ${JSON.stringify(READY)}, and is ${dir}/redis.log.`,
  );
});

test('A server that could not get memory has ended because of that', async () => {
  const dir = withLog(STARTING, READY, '7:M # Out Of Memory allocating 81920 bytes!');
  expect(await whyEnded(dir, { code: null, signal: 'SIGABRT' })).toEqual({ cause: 'outOfMemory' });
});

test('Without a log, a server has ended for an unknown reason', async () => {
  const why = await whyEnded(join(tmpdir(), 'volley-no-such-folder'), exited);
  expect(why).toEqual({ cause: 'other', lastLine: '' });
  expect(lostRedis('/data', why, 'volley up').message).toContain(
    'has ended. Its log is /data/redis.log. Volley',
  );
});
