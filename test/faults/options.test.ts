import { expect, test } from 'vitest';
import { readOptions } from './options.js';
import { SCENARIOS } from './scenarios.js';

const chosen = (...args: string[]): unknown => {
  const options = readOptions(args);
  return typeof options === 'string' ? options : options.scenarios.map(({ name }) => name);
};

test('without options every scenario is run with seed 1', () => {
  expect(readOptions([])).toMatchObject({ scenarios: SCENARIOS, seeds: [1], kills: undefined });
});

test('a seed and a name run one scenario again; runs go on from the seed', () => {
  expect(chosen('--only', 'stop', '--seed', '17')).toEqual(['stop']);
  expect(readOptions(['--seed', '17', '--runs', '3'])).toMatchObject({ seeds: [17, 18, 19] });
});

test('a word that is no name stands for all that begin with it, and several may be given', () => {
  expect(chosen('--only', 'service')).toEqual(['service-cut', 'service-slow']);
  expect(chosen('--only', 'kill,block,kill')).toEqual(['kill', 'block']);
});

test('what cannot be is said in one line', () => {
  const wrong = [
    ['--seed', 'x'],
    ['--seed', '-1'],
    ['--runs', '0'],
    ['--kills', '1.5'],
    ['--only', 'sto'],
    ['--only', ','],
    ['--bogus'],
  ];
  for (const args of wrong) expect(readOptions(args)).toMatch(/^[^\n]{20,}$/);
});

test('no two scenarios have a name in common', () => {
  expect(new Set(SCENARIOS.map(({ name }) => name)).size).toBe(SCENARIOS.length);
});
