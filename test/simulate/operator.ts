import { listUnknown, resolveBatches } from '../../src/engine/sending/unknown.js';
import type { World } from './world.js';

/** An operator pauses, resumes, or cancels a campaign, at once. */
export async function commandCampaign(
  world: World,
  command: 'pause' | 'resume' | 'cancel',
  id: string,
): Promise<void> {
  const { lane } = world.campaign(id);
  // The command may be the first to notice that Redis has lost data.
  await world.direct(lane, async (of) => of.emit((await of.commands.campaign(command, id)).events));
}

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
