import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));

/** Whether the package is built when npm prepares it for one of its commands. */
function isBuilt(npmCommand: string, folder: string): boolean {
  const script = scripts.prepare.replace('npm run build', 'echo built');
  const env = { PATH: process.env['PATH'] ?? '', npm_command: npmCommand };
  return execFileSync('sh', ['-c', script], { cwd: folder, env, encoding: 'utf8' }).includes('built');
}

test('npx, which prepares the checkout again before its first run, does not build it a second time', () => {
  const folder = mkdtempSync(join(tmpdir(), 'volley-prepare-'));
  expect(['ci', 'exec'].map((command) => isBuilt(command, folder))).toEqual([true, true]);
  mkdirSync(join(folder, 'dist', 'src', 'surfaces', 'cli'), { recursive: true });
  writeFileSync(join(folder, 'dist', 'src', 'surfaces', 'cli', 'main.js'), '');
  expect(['ci', 'pack', 'exec'].map((command) => isBuilt(command, folder))).toEqual([true, true, false]);
});
