/** The output of `npm run bench`: tables on the terminal and in the document, and two charts. */
import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { cpus, totalmem } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { findServer } from '../../src/base/redis/find-server.js';
import { CONTESTANTS } from './contestants.js';
import { barsPicture, middleRound, windowsPicture } from './pictures.js';
import type { Scenario } from './scenario.js';
import { clockTable, costTable, killTable, type Rounds, undisturbedTable } from './table.js';

export interface Played {
  readonly scenario: Scenario;
  readonly results: Rounds[number];
}

const DOCUMENT = 'bench/README.md';
const PICTURES = 'docs/images';

/** Writes the document and charts below `root` (creates a missing document) and returns the generated text. */
export async function write(rounds: readonly Played[], root: string, load: string): Promise<string> {
  const of = (model: Scenario['model'], kill: boolean): Rounds =>
    rounds
      .filter(({ scenario }) => scenario.model === model && scenario.kill === kill)
      .map(({ results }) => results);
  const [undisturbed, killed, clock] = [of('sliding', false), of('sliding', true), of('clock', false)];
  const [first] = rounds;
  if (first === undefined) throw new Error('no round was run');
  const { scenario } = first;

  const folder = join(root, PICTURES);
  await mkdir(folder, { recursive: true });
  await writeFile(
    join(folder, 'peers-windows.svg'),
    windowsPicture(CONTESTANTS, middleRound(undisturbed, 'volley'), scenario),
  );
  await writeFile(
    join(folder, 'peers-figures.svg'),
    barsPicture(CONTESTANTS, { undisturbed, killed }, scenario),
  );

  const recipients = scenario.recipients.toLocaleString('en-GB');
  const parts = [
    `${await machine()} ${load} ${recipients} recipients, N = ${scenario.quota} requests in ${scenario.windowMs / 1000} s. Medians, with minimum and maximum in parentheses.`,
    `No kill, sliding window, ${counted(undisturbed)}:`,
    undisturbedTable(CONTESTANTS, undisturbed, scenario.windowMs),
    '![Requests of each contestant in the last window over time, compared with the quota](../docs/images/peers-windows.svg)',
    `One worker killed with \`kill -9\` half-way, sliding window, ${counted(killed)}:`,
    killTable(CONTESTANTS, killed),
  ];
  if (clock.length > 0) {
    parts.push(
      `The service counts by the clock, no kill, ${counted(clock)}:`,
      clockTable(CONTESTANTS, clock, scenario.windowMs),
    );
  }
  parts.push(
    'Cost in Redis, from the rounds without a kill:',
    costTable(CONTESTANTS, undisturbed),
    '![Bars of the figures in which the contestants differ most](../docs/images/peers-figures.svg)',
  );
  const text = parts.join('\n\n');
  const path = join(root, DOCUMENT);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, between(await documentAt(path), 'peers', text));
  return text;
}

function counted({ length }: Rounds): string {
  return length === 1 ? 'one round' : `${length} rounds`;
}

async function documentAt(path: string): Promise<string> {
  return readFile(path, 'utf8').catch(() => '# Benchmarks\n\n<!-- peers -->\n<!-- /peers -->\n');
}

async function machine(): Promise<string> {
  const day = new Date().toLocaleDateString('en-GB', { day: 'numeric', month: 'long', year: 'numeric' });
  const program = await findServer();
  const { stdout } =
    program === undefined ? { stdout: '' } : await promisify(execFile)(program, ['--version']);
  const [, redis = '?'] = /v=(\S+)/.exec(stdout) ?? [];
  const gigabytes = Math.round(totalmem() / 2 ** 30);
  return `Measured on ${day}: ${cpus().length} cores, ${gigabytes} GB, Node ${process.versions.node}, Redis ${redis}.`;
}

/** Replaces the text between `<!-- name -->` and `<!-- /name -->`. Throws if the document lacks one of them. */
function between(document: string, name: string, text: string): string {
  const [open, close] = [`<!-- ${name} -->`, `<!-- /${name} -->`];
  const [from, to] = [document.indexOf(open), document.indexOf(close)];
  if (from < 0 || to < from) throw new Error(`the document has no ${open} … ${close}`);
  return `${document.slice(0, from + open.length)}\n${text.trim()}\n${document.slice(to)}`;
}
