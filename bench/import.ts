/**
 * The cost of importing a million rows, from the file to the committed campaign: time, peak memory of the process, and
 * Redis bytes per recipient, with a shared and a personalised text.
 *
 *   npm run bench -- import [rows]
 *
 * Each case runs in its own process, so that the peak memory is that of the case. Redis runs with `appendfsync everysec`.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from '../src/base/redis/connection.js';
import { startPrivateRedis } from '../src/base/redis/private-server.js';
import { importedFromFile } from './import-from-file.js';
import { TEXTS, writeList } from './list.js';
import { bytesOfKeys } from './send/redis-figures.js';

const rows = Number(process.argv[2] ?? 1_000_000);
const folder = await mkdtemp(join(tmpdir(), 'volley-bench-'));
try {
  const list = join(folder, 'list.csv');
  await writeList(list, rows);
  for (const [name, message] of Object.entries(TEXTS)) {
    const server = await startPrivateRedis({ appendfsync: 'everysec' });
    const redis = connect(server.url);
    const { seconds, peakMb } = await importedFromFile(server.url, list, message);
    const bytes = (await bytesOfKeys(redis)) / rows;
    process.stdout.write(
      `${name.padEnd(14)} ${seconds.toFixed(1)} s, peak RSS ${peakMb} MB, ${bytes.toFixed(1)} bytes per recipient; ${rows} recipients\n`,
    );
    redis.disconnect();
    await server.stop();
  }
} finally {
  await rm(folder, { recursive: true });
}
