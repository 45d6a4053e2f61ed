import { listUnknown, resolveBatches } from '../../src/engine/sending/unknown.js';
import type { World } from './world.js';

/** What an operator may decide on a request whose outcome is unknown. */
export const RESOLUTIONS = ['abandon', 'resend', 'accepted'] as const;
export type Resolution = (typeof RESOLUTIONS)[number];

/** An operator decides what became of the unknown outcomes of a lane. */
export async function resolveUnknown(world: World, lane: string, as: Resolution): Promise<void> {
  await world.direct(lane, async (of) => {
    const unknown = await listUnknown(of);
    if (unknown.length > 0) await resolveBatches(of, as, 'the operator', unknown);
  });
}
