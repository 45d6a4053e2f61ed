import { LimitError } from '../../campaign/limits/check-limits.js';
import type { SomeLimits } from '../../campaign/states/limit-values.js';

/** The lanes that this process knows. */
interface Known {
  isSimulated(lane: string): Promise<boolean>;
  knownLanes(): readonly { readonly name: string }[];
}

/**
 * Lets a test key change something on lanes only if the service of each is a simulator. Rejects with a LimitError. `lanes`: those that the
 * change may concern; undefined: all. Other actors are not limited.
 */
export async function requireSimulators(
  { isSimulated, knownLanes }: Known,
  { key, limits }: { readonly key: string | null; readonly limits: SomeLimits | undefined },
  lanes: readonly string[] = knownLanes().map(({ name }) => name),
): Promise<void> {
  if (!limits?.test) return;
  const simulated = await Promise.all(lanes.map(isSimulated));
  const real = lanes.find((_, at) => !simulated[at]);
  if (real === undefined) return;
  throw new LimitError(
    `API key ${key} is a test key, and the service of lane ${real} is not a simulator: use a live key, or name a lane with a simulator`,
    { limit: 'test', owner: 'key' },
  );
}
