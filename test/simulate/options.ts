import { parseArgs } from 'node:util';

/** What the command is told. */
export type Options =
  | {
      readonly kind: 'run';
      readonly from: number;
      readonly seeds: number;
      readonly workers: number;
      /** Hash the trace of every seed into one digest, to compare two versions of the code. */
      readonly traces: boolean;
    }
  | { readonly kind: 'replay'; readonly seed: number }
  | { readonly kind: 'mutants' };

const SEEDS = 10_000;
/** As many as a machine of two cores can use: the server takes what they leave. */
const WORKERS = 2;

/** Reads the command line; what is wrong with it comes back as a sentence. */
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
        mutants: { type: 'boolean' },
        traces: { type: 'boolean' },
      },
    });
    const isRun = [values.seeds, values.from, values.workers, values.traces].some(
      (value) => value !== undefined,
    );
    if ([isRun, values.seed !== undefined, values.mutants === true].filter(Boolean).length > 1) {
      return 'give either --seed, or --mutants, or any of --seeds, --from, --workers and --traces';
    }
    if (values.mutants === true) return { kind: 'mutants' };
    if (values.seed !== undefined) return { kind: 'replay', seed: whole('seed', values.seed, 0) };
    return {
      kind: 'run',
      from: whole('from', values.from ?? '0', 0),
      seeds: whole('seeds', values.seeds ?? String(SEEDS), 1),
      workers: whole('workers', values.workers ?? String(WORKERS), 1),
      traces: values.traces === true,
    };
  } catch (error) {
    return error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
  }
}

function whole(option: string, text: string, least: number): number {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least) return value;
  throw new RangeError(`--${option} must be a whole number from ${least}, not ${JSON.stringify(text)}`);
}
