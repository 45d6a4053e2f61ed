import { describe, expect, it } from 'vitest';
import { readOptions } from './options.js';

describe('the command line of the simulation', () => {
  it('without options runs ten thousand seeds', () => {
    expect(readOptions([])).toEqual({ kind: 'run', from: 0, seeds: 10_000, workers: 2, traces: false });
  });

  it('takes a range of seeds and a number of workers', () => {
    expect(readOptions(['--from', '100000', '--seeds', '30', '--workers', '1', '--traces'])).toEqual({
      kind: 'run',
      from: 100_000,
      seeds: 30,
      workers: 1,
      traces: true,
    });
  });

  it('replays one seed', () => {
    expect(readOptions(['--seed', '17'])).toEqual({ kind: 'replay', seed: 17 });
  });

  it.each([
    [['--seed', 'x'], '--seed must be a whole number from 0, not "x"'],
    [['--seeds', '0'], '--seeds must be a whole number from 1, not "0"'],
    [['--from', '1.5'], '--from must be a whole number from 0, not "1.5"'],
    [['--workers', ''], '--workers must be a whole number from 1, not ""'],
    [
      ['--seed', '1', '--seeds', '2'],
      'give either --seed, or --mutants, or any of --seeds, --from, --workers and --traces',
    ],
  ])('refuses %j in one line', (args, why) => {
    expect(readOptions(args)).toBe(why);
  });

  it('refuses an option there is not', () => {
    expect(readOptions(['--sedes', '3'])).toMatch(/^Unknown option '--sedes'/);
  });
});
