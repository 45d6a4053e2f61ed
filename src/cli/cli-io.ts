import type { Clock } from '../clock.js';
import type { Environment } from '../config/index.js';

/** What a command has of its process; tests pass their own. */
export interface Surroundings {
  /** The real environment, without `.env`. */
  readonly env: Environment;
  readonly cwd: string;
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
  readonly clock: Clock;
}
