/**
 * Fetches many call records, as a program that may be killed at any time: node fetch-many.mjs DIRECTORY COUNT LANE... It fetches what
 * DIRECTORY does not have yet, prints `done`, and ends.
 */
import { access, open, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { createVolley, loadConfig } from '../../dist/src/index.js';

const CONCURRENCY = 8;
const [directory, count, ...lanes] = process.argv.slice(2);
const volley = createVolley({ config: loadConfig(process.env) });

let next = 0;
async function work() {
  for (let at = next++; at < Number(count); at = next++) {
    const path = join(directory, `${at}.csv`);
    if (
      await access(path).then(
        () => true,
        () => false,
      )
    )
      continue;
    const day = `2026-01-${String(1 + (at % 28)).padStart(2, '0')}`;
    const opened = await volley.records.fetch({
      lane: lanes[at % lanes.length],
      from: day,
      to: day,
      parameters: { product: 'voice', format: 'csv', number: `+${at}` },
      key: String(at),
    });
    if (opened.kind === 'none') continue;
    const draft = await open(`${path}.part`, 'w');
    for await (const chunk of opened.body) await draft.write(chunk);
    await draft.close();
    await rename(`${path}.part`, path);
  }
}

await Promise.all(Array.from({ length: CONCURRENCY }, work));
await volley.close();
console.log('done');
