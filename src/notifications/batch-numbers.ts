import type { Lane } from '../lane/lane.js';
import type { Located } from '../recipients/request-index.js';
import type { OrdinalNumbers } from '../recipients/slices.js';
import { DamagedError } from '../recipients/slices.js';

/**
 * The numbers of a batch, as digits, in the order of the list. Null where there is none: the digest is another id's, the
 * campaign is gone, or the correlator was not ours after all.
 */
export type BatchNumbers = (located: Located) => Promise<readonly string[] | null>;

/** Reads those of a lane, until the signal. */
export function batchNumbers(lane: Lane, numbers: OrdinalNumbers, signal: AbortSignal): BatchNumbers {
  return async ({ campaign, first, count }) => {
    const read = () => numbers(lane.name, campaign, first, count);
    try {
      // Nearly always at hand; only what Redis did not answer is asked for with patience.
      const found = await read().catch((error: unknown) => {
        if (error instanceof DamagedError) throw error;
        return lane.answered(read, signal);
      });
      return found.map(String);
    } catch (error) {
      if (error instanceof DamagedError) return null;
      throw error;
    }
  };
}
