import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { version } from '../../src/config/version.js';

test('the version is that of package.json', () => {
  const written = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  expect(version).toBe(written.version);
  expect(version).toMatch(/^\d+\.\d+\.\d+/);
});
