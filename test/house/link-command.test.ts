import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../../', import.meta.url));

test('After npm ci, npx finds the command of this checkout and need not install it', async () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const [, script = ''] = /&& node (\S+)$/.exec(scripts.prepare) ?? [];
  const folder = mkdtempSync(join(tmpdir(), 'volley-link-command-'));
  mkdirSync(join(folder, 'node_modules', '.bin'), { recursive: true });
  mkdirSync(join(folder, 'dist', 'src', 'cli'), { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  writeFileSync(join(folder, 'dist/src/cli/main.js'), 'console.log(...process.argv.slice(2));');
  await run(process.execPath, [join(ROOT, script)], { cwd: folder });
  const { stdout } = await run(join(folder, 'node_modules', '.bin', 'volley'), ['list', '--json']);
  expect(stdout).toBe('list --json\n');
});
