import { describe, expect, it } from 'vitest';
import { readOptions } from './options.js';

describe('the command line of the simulation', () => {
  it('runs ten thousand seeds by default', () => {
    expect(readOptions([])).toEqual({ kind: 'run', from: 0, seeds: 10_000, workers: 2, traces: false });
  });

  it('accepts a range of seeds, a number of workers, and tracing', () => {
    expect(readOptions(['--from', '100000', '--seeds', '30', '--workers', '1', '--traces'])).toEqual({
      kind: 'run',
      from: 100_000,
      seeds: 30,
      workers: 1,
      traces: true,
    });
  });

  it('replays a scripted world', () => {
    expect(readOptions(['--world', 'late-report'])).toEqual({ kind: 'world', name: 'late-report' });
  });

  it('replays a single seed', () => {
    expect(readOptions(['--seed', '17'])).toEqual({ kind: 'replay', seed: 17 });
  });

  it.each([
    [['--seed', 'x'], '--seed must be a whole number of at least 0, not "x"'],
    [['--seeds', '0'], '--seeds must be a whole number of at least 1, not "0"'],
    [['--from', '1.5'], '--from must be a whole number of at least 0, not "1.5"'],
    [['--workers', ''], '--workers must be a whole number of at least 1, not ""'],
    [
      ['--seed', '1', '--seeds', '2'],
      'use --seed, or --world, or --mutants, or any of --seeds, --from, --workers, and --traces, but not together',
    ],
  ])('rejects %j with a one-line message', (args, message) => {
    expect(readOptions(args)).toBe(message);
  });

  it('rejects an unknown option', () => {
    expect(readOptions(['--sedes', '3'])).toMatch(/^Unknown option '--sedes'/);
  });
});
