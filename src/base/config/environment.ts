import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'dotenv';
import { VolleyError } from '../../campaign/errors/errors.js';
import { readProblem, systemCode } from './file-problem.js';

/** Environment variables by name, as in `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** How a configuration is loaded. */
export interface ConfigOptions {
  /** Reads `LANES_FILE`; the default reads it from disk. */
  readFile?: ((path: string) => string) | undefined;
  /** Replaces both base URLs, which must be loopback addresses, and makes credentials optional. */
  simulator?: SimulatorAddress | undefined;
}

/** The addresses of a simulator on this machine. */
export interface SimulatorAddress {
  messagingBaseUrl: string;
  accountBaseUrl: string;
  /** The addresses of profile v3, for lanes that use it. */
  v3?: { messagingBaseUrl: string; tokenUrl: string };
}

/** The configuration is invalid. The error contains every problem and no secret. */
export class ConfigError extends VolleyError {
  override readonly name = 'ConfigError';
  readonly code = 'config';
  /** One sentence per problem: which setting is invalid, and what it must be. */
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(['The configuration is invalid:', ...problems.map((problem) => `  - ${problem}`)].join('\n'));
    this.problems = problems;
  }
}

/**
 * The environment plus the settings of `.env` in `directory`. Variables of the environment take precedence. Neither
 * `process.env` nor `environment` is changed. The file may be missing; an unreadable one throws a {@link ConfigError}.
 */
export function loadDotEnv(directory: string, environment: Environment = process.env): Environment {
  const file = join(directory, '.env');
  try {
    return { ...parse(readFileSync(file)), ...environment };
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return { ...environment };
    throw new ConfigError([
      `${readProblem(error, file) ?? `The file ${file} cannot be read`}; make it a file that you can read`,
    ]);
  }
}
