/**
 * What reading and checking a list of a million rows takes: CSV to checked recipients, and for a personalised text
 * also rendering it and counting its segments. Redis has no part in it.
 *
 *   npx tsc -p test/tsconfig.json --noEmit false --outDir node_modules/.cache/bench
 *   node node_modules/.cache/bench/bench/import-rows.js [rows]
 *
 * Each case runs in a process of its own, which is what makes its peak memory its own.
 */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { segmentsOf } from '../src/campaign/segments.js';
import { compileTemplate } from '../src/campaign/template.js';
import { checkRows } from '../src/list/recipients.js';
import { readCsv } from '../src/list/rows.js';

const CASES = {
  'shared text': 'Spring sale: 20 % off everything until Sunday. Reply STOP to opt out.',
  'personalised, GSM-7':
    'Hi {{name}}, the spring sale has come to {{city}}: 20 % off everything until Sunday. Reply STOP to opt out.',
  'personalised, UCS-2':
    'Hi {{name}} 🌷 the spring sale has come to {{city}}: 20 % off everything ❤️ until Sunday. Reply STOP to opt out.',
} as const;

const [, , first = '1000000', file, text] = process.argv;
await (file === undefined || text === undefined ? runAll(Number(first)) : runOne(file, text));

async function runAll(rows: number): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'volley-bench-'));
  try {
    const list = join(folder, 'list.csv');
    await writeList(list, rows);
    for (const [name, template] of Object.entries(CASES)) {
      const self = fileURLToPath(import.meta.url);
      const result = execFileSync(process.execPath, [self, String(rows), list, template], {
        encoding: 'utf8',
      });
      process.stdout.write(`${name.padEnd(22)} ${result}`);
    }
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Numbers as people mix them, one in a hundred a duplicate, one in a thousand invalid. */
async function writeList(path: string, rows: number): Promise<void> {
  const out = createWriteStream(path);
  out.write('\ufeffnumber,name,city\n');
  for (let row = 0; row < rows; row++) {
    const digits = String(10_000_000 + (row % 100 === 99 ? row - 50 : row));
    const spelled = [
      `+4477${digits}`,
      `077${digits.slice(0, 2)} ${digits.slice(2)}`,
      `+44 (0)77${digits}`,
      `4477${digits}`,
    ];
    const number = row % 1000 === 500 ? '4.47701E+11' : spelled[row % spelled.length];
    if (!out.write(`${number},O'Brien & Søn ${row % 977},"Wells, Somerset"\n`)) await once(out, 'drain');
  }
  out.end();
  await once(out, 'close');
}

async function runOne(path: string, text: string): Promise<void> {
  const started = performance.now();
  const list = await readCsv(path);
  const compiled = compileTemplate(text, list.columns);
  if (!compiled.ok) throw new Error(compiled.reason);
  const { template } = compiled;
  const checked = await checkRows(list, { defaultCountry: 'GB', template });
  let segments = 0;
  for await (const batch of checked.batches) {
    if (template.placeholders.length === 0) continue;
    for (const row of batch) {
      if (row.kind === 'recipient') segments += segmentsOf(template.render(row.values)).segments;
    }
  }
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  const processor = (process.cpuUsage().user / 1e6).toFixed(1);
  const peak = Math.round(process.resourceUsage().maxRSS / 1024);
  const { rows, recipients, duplicates, invalid } = checked.counts();
  const found = `${rows} rows: ${recipients} recipients, ${duplicates} duplicates, ${invalid} invalid, ${segments} segments`;
  process.stdout.write(`${seconds} s (${processor} s of processor time), peak RSS ${peak} MB; ${found}\n`);
}
