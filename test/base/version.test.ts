import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { version } from '../../src/base/version.js';

test('The version is the one in package.json', () => {
  const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  expect(version).toBe(manifest.version);
  expect(version).toMatch(/^\d+\.\d+\.\d+/);
});
