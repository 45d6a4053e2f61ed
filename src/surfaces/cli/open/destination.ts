import { type Config, type LocalConfig, serviceUrlOf } from '../../../base/config/index.js';

/** While a simulator stands in for the service. */
export const SIMULATOR = 'SIMULATOR';

/** What decides where the messages of a lane go. */
interface Route {
  readonly config: Config | LocalConfig;
  /** Set while a simulator stands in for the service. */
  readonly simulator: object | undefined;
}

/**
 * Where the messages of a lane go: `SIMULATOR`, or the host of its service. Null if only the settings of the workers say so,
 * because this command has none for the lane.
 */
export function destinationOf({ config, simulator }: Route, lane: string): string | null {
  if (simulator !== undefined) return SIMULATOR;
  const rules = config.lanes.find(({ name }) => name === lane);
  const url = rules && serviceUrlOf(config, rules);
  return url === undefined ? null : new URL(url).host;
}

/** ` via api.example`, for a sentence about a message; `destination` as in {@link destinationOf}. */
export function via(destination: string | null): string {
  return ` via ${destination ?? 'the service of the workers'}`;
}
