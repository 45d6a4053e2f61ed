import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { CONTESTANTS } from '../../bench/peers/contestants.js';
import { FULL_ROUNDS } from '../../bench/peers/scenario.js';
import { write } from '../../bench/peers/write.js';
import { RESULT } from './result.js';

test('The tables go into the page beside the benches, and its pictures exist', async () => {
  const root = await mkdtemp(join(tmpdir(), 'volley-bench-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  const results = new Map(CONTESTANTS.map(({ name }) => [name, RESULT]));
  const rounds = FULL_ROUNDS.map((scenario) => ({ scenario, results }));

  const text = await write(rounds, root, 'Load average 1.0.');

  const page = await readFile(join(root, 'bench/README.md'), 'utf8');
  expect(page).toContain(text.trim());
  const pictures = [...page.matchAll(/!\[[^\]]+\]\(([^)]+)\)/g)].map(([, to = '']) => to);
  expect(pictures).toHaveLength(2);
  expect(pictures.filter((to) => !existsSync(join(root, 'bench', to)))).toEqual([]);
});
