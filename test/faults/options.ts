import { parseArgs } from 'node:util';
import type { Scenario } from './scenario.js';
import { SCENARIOS } from './scenarios.js';

/** What the command is told. */
export interface Options {
  readonly scenarios: readonly Scenario[];
  readonly seeds: readonly number[];
  /** Scenarios at a time. */
  readonly atOnce: number;
  /** Kills of the long run instead; undefined: none. */
  readonly kills: number | undefined;
  /** A history to check instead. */
  readonly check: string | undefined;
}

/** Most of a scenario is waiting for locks to end, so two cores carry several at a time. */
const AT_ONCE = 9;

/** Reads the command line; what is wrong with it comes back as a sentence. */
export function readOptions(args: readonly string[]): Options | string {
  try {
    const { values } = parseArgs({
      args: [...args],
      strict: true,
      options: {
        seed: { type: 'string' },
        runs: { type: 'string' },
        only: { type: 'string' },
        'at-once': { type: 'string' },
        kills: { type: 'string' },
        check: { type: 'string' },
      },
    });
    const first = whole('seed', values.seed ?? '1', 0);
    const runs = whole('runs', values.runs ?? '1', 1);
    return {
      scenarios: values.only === undefined ? SCENARIOS : named(values.only.split(',')),
      seeds: Array.from({ length: runs }, (_, index) => first + index),
      atOnce: whole('at-once', values['at-once'] ?? String(AT_ONCE), 1),
      kills: values.kills === undefined ? undefined : whole('kills', values.kills, 1),
      check: values.check,
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

/** Scenarios by their names; a word that is no name is the beginning of some: `redis` is all of Redis. */
function named(words: readonly string[]): Scenario[] {
  const meant = words.flatMap((word) => {
    const exact = SCENARIOS.filter(({ name }) => name === word);
    const found = exact.length > 0 ? exact : SCENARIOS.filter(({ name }) => name.startsWith(`${word}-`));
    if (found.length > 0) return found;
    const all = SCENARIOS.map(({ name }) => name).join(', ');
    throw new RangeError(`there is no scenario ${JSON.stringify(word)}; there are: ${all}`);
  });
  return [...new Set(meant)];
}
