import { ConfigError } from '../../../src/base/config/index.js';

/** The problems of the configuration that `read` loads; none if it loads. */
export function problemsOf(read: () => unknown): readonly string[] {
  try {
    read();
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}
