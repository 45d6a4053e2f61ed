import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'dotenv';
import { ConfigError } from './error.js';

/** Environment variables by name, as in `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The environment with the settings of `.env` in `directory` underneath: what is set in the real environment wins.
 * Neither `process.env` nor the given environment is changed. A missing file is no fault; an unreadable one throws
 * a {@link ConfigError}.
 */
export function loadDotEnv(directory: string, environment: Environment = process.env): Environment {
  const file = join(directory, '.env');
  try {
    return { ...parse(readFileSync(file)), ...environment };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ENOENT') return { ...environment };
    throw new ConfigError([`${file} cannot be read (${String(code)}); make it a file that you may read`]);
  }
}
