import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { checkProtection } from '../../../../src/surfaces/cli/machine/doctor/protection.js';

const SAFE = { redisUrl: 'redis://127.0.0.1:6379', allowInsecure: [] };

test.each([
  ['nothing', SAFE, []],
  ['a remote Redis without TLS', { ...SAFE, redisUrl: 'redis://:p@redis.example' }, [/no TLS/]],
  ['a remote Redis with TLS', { ...SAFE, redisUrl: 'rediss://:p@redis.example' }, []],
  ['ALLOW_INSECURE', { ...SAFE, allowInsecure: ['redis', 'keys'] as const }, [/allows redis, keys/]],
] as const)('The doctor warns about what is unprotected: %s', (_, config, found) => {
  const checks = checkProtection(config);
  expect(checks.map(({ state }) => state)).toEqual(found.map(() => 'warn'));
  expect(checks.map((check) => check.message)).toEqual(found.map((text) => expect.stringMatching(text)));
});

test('The doctor fails where no certificate is checked', () => {
  const env = { NODE_TLS_REJECT_UNAUTHORIZED: '0' };
  expect(checkProtection(SAFE, env)).toMatchObject([{ state: 'fail', name: 'certificates' }]);
  expect(checkProtection(SAFE, { NODE_TLS_REJECT_UNAUTHORIZED: '1' })).toEqual([]);
});

test('The doctor makes every check that its files define', () => {
  const folders = ['src/app/doctor', 'src/surfaces/cli/machine/doctor'];
  const files = folders.flatMap((folder) => readdirSync(folder).map((file) => `${folder}/${file}`));
  const source = [...files, 'src/surfaces/cli/machine/doctor.ts']
    .map((file) => readFileSync(file, 'utf8'))
    .join('\n')
    .replaceAll(/^import .*?;$/gms, '');
  const defined = [...source.matchAll(/^export (?:async )?function (check\w+)/gm)].map(
    ([, name = '']) => name,
  );
  expect(defined.length).toBeGreaterThan(10);
  const unused = defined.filter((name) => (source.match(new RegExp(`\\b${name}\\b`, 'g')) ?? []).length < 2);
  expect(unused).toEqual([]);
});
