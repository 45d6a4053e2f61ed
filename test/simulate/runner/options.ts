import { parseArgs } from 'node:util';
import { wholeNumber } from '../../base/whole-number.js';

/** The parsed command line. */
export type Options =
  | {
      readonly kind: 'run';
      readonly from: number;
      readonly seeds: number;
      readonly workers: number;
      /** Whether to hash the traces of all worlds into one digest, to compare two versions of the code. */
      readonly traces: boolean;
    }
  | { readonly kind: 'replay'; readonly seed: number }
  | { readonly kind: 'world'; readonly name: string }
  | { readonly kind: 'mutants' };

const SEEDS = 10_000;
/** Two worker processes and the Redis server keep a machine with two cores busy. */
const WORKERS = 2;

/** Parses the command line. Returns an error message if it is invalid. */
export function readOptions(args: readonly string[]): Options | string {
  try {
    const { values } = parseArgs({
      args: [...args],
      strict: true,
      options: {
        seeds: { type: 'string' },
        from: { type: 'string' },
        workers: { type: 'string' },
        seed: { type: 'string' },
        world: { type: 'string' },
        mutants: { type: 'boolean' },
        traces: { type: 'boolean' },
      },
    });
    const isRun = [values.seeds, values.from, values.workers, values.traces].some(
      (value) => value !== undefined,
    );
    if (
      [isRun, values.seed !== undefined, values.world !== undefined, values.mutants === true].filter(Boolean)
        .length > 1
    ) {
      return 'use --seed, or --world, or --mutants, or any of --seeds, --from, --workers, and --traces, but not together';
    }
    if (values.mutants === true) return { kind: 'mutants' };
    if (values.world !== undefined) return { kind: 'world', name: values.world };
    if (values.seed !== undefined) return { kind: 'replay', seed: wholeNumber('seed', values.seed, 0) };
    return {
      kind: 'run',
      from: wholeNumber('from', values.from ?? '0', 0),
      seeds: wholeNumber('seeds', values.seeds ?? String(SEEDS), 1),
      workers: wholeNumber('workers', values.workers ?? String(WORKERS), 1),
      traces: values.traces === true,
    };
  } catch (error) {
    return error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
  }
}
