import { parseArgs } from 'node:util';
import { wholeNumber } from '../base/whole-number.js';
import { ATTACK_NAMES } from './attacks/run-attack.js';
import type { Scenario } from './scenario.js';
import { SCENARIOS } from './scenarios.js';

/** The parsed command line. */
export interface Options {
  readonly scenarios: readonly Scenario[];
  readonly seeds: readonly number[];
  /** How many scenarios run at a time. */
  readonly concurrency: number;
  /** The name of an attack; undefined: scenarios run instead. */
  readonly attack: string | undefined;
  /** How long the attack is; undefined: as long as it is by default. */
  readonly times: number | undefined;
  /** The path of a history to check instead. */
  readonly check: string | undefined;
}

/**
 * Scenarios mostly wait for locks to expire, so two cores can run several at a time. With nine, requests exceed their timeouts because the
 * processes get too little time, and outcomes become unknown without a fault.
 */
const CONCURRENCY = 4;

/** Parses the command line. Returns an error message if it is invalid. */
export function readOptions(args: readonly string[]): Options | string {
  try {
    const { values } = parseArgs({
      args: [...args],
      strict: true,
      options: {
        seed: { type: 'string' },
        runs: { type: 'string' },
        only: { type: 'string' },
        concurrency: { type: 'string' },
        attack: { type: 'string' },
        times: { type: 'string' },
        check: { type: 'string' },
      },
    });
    const first = wholeNumber('seed', values.seed ?? '1', 0);
    const runs = wholeNumber('runs', values.runs ?? '1', 1);
    return {
      scenarios: values.only === undefined ? SCENARIOS : named(values.only.split(',')),
      seeds: Array.from({ length: runs }, (_, index) => first + index),
      concurrency: wholeNumber('concurrency', values['concurrency'] ?? String(CONCURRENCY), 1),
      attack: attackOf(values.attack),
      times: values.times === undefined ? undefined : wholeNumber('times', values.times, 1),
      check: values.check,
    };
  } catch (error) {
    return error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
  }
}

function attackOf(text: string | undefined): string | undefined {
  if (text === undefined || ATTACK_NAMES.includes(text)) return text;
  throw new RangeError(`--attack must be one of ${ATTACK_NAMES.join(', ')}, not ${JSON.stringify(text)}`);
}

/** Scenarios by name, or by the first part of their names: `redis` selects every `redis-…` scenario. */
function named(names: readonly string[]): Scenario[] {
  const selected = names.flatMap((word) => {
    const exact = SCENARIOS.filter(({ name }) => name === word);
    const found = exact.length > 0 ? exact : SCENARIOS.filter(({ name }) => name.startsWith(`${word}-`));
    if (found.length > 0) return found;
    const all = SCENARIOS.map(({ name }) => name).join(', ');
    throw new RangeError(`unknown scenario ${JSON.stringify(word)}; use one of ${all}`);
  });
  return [...new Set(selected)];
}
