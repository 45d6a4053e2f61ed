import { expect, test } from 'vitest';
import { readOptions } from './options.js';
import { SCENARIOS } from './scenarios.js';

const chosen = (...args: string[]): unknown => {
  const options = readOptions(args);
  return typeof options === 'string' ? options : options.scenarios.map(({ name }) => name);
};

test('Every scenario runs with seed 1 by default', () => {
  expect(readOptions([])).toMatchObject({ scenarios: SCENARIOS, seeds: [1], kills: undefined });
});

test('--only and --seed select one scenario and seed, and --runs counts up from the seed', () => {
  expect(chosen('--only', 'stop', '--seed', '17')).toEqual(['stop']);
  expect(readOptions(['--seed', '17', '--runs', '3'])).toMatchObject({ seeds: [17, 18, 19] });
});

test('--only accepts several names and the common first part of names', () => {
  expect(chosen('--only', 'service')).toEqual(['service-cut', 'service-slow']);
  expect(chosen('--only', 'kill,block,kill')).toEqual(['kill', 'block']);
});

test('An invalid option is rejected with a one-line message', () => {
  const wrong = [
    ['--seed', 'x'],
    ['--seed', '-1'],
    ['--runs', '0'],
    ['--kills', '1.5'],
    ['--outbox-kills', '0'],
    ['--profile', 'v2'],
    ['--only', 'sto'],
    ['--only', ','],
    ['--bogus'],
  ];
  for (const args of wrong) expect(readOptions(args)).toMatch(/^[^\n]{20,}$/);
});

test('Scenario names are unique', () => {
  expect(new Set(SCENARIOS.map(({ name }) => name)).size).toBe(SCENARIOS.length);
});
