import { StateError } from '../../../src/campaign/errors/state-error.js';
import { listUnknown, resolveBatches } from '../../../src/engine/sending/unknown.js';
import { type CampaignChanges, setCampaign } from '../../../src/intake/changes/set-campaign.js';
import { RecoveringError } from '../../../src/intake/outbox/definition/errors.js';
import { OPERATOR } from '../../app/access/operator.js';
import type { World } from '../world.js';

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

/**
 * An operator gives a campaign another text, and other settings. Resolves when that is done, or when it waits: then it goes on in steps of its own,
 * so that the world is the same each time.
 */
export async function changeCampaign(world: World, id: string, others: CampaignChanges = {}): Promise<void> {
  const { operator, keys, scenario, jobs, clock, checker, trace } = world;
  const lane = operator.laneNamed(world.campaign(id).lane);
  const message = checker.newText(id);
  trace.add('operator', `changes ${id} to ${message}`);
  const deps = {
    ...{ redis: operator.redis, keys, wakers: jobs, by: OPERATOR },
    config: { ...scenario.config, lanes: scenario.lanes.map(({ settings }) => settings), keyBytes: 0 },
    finder: { of: async () => lane },
    clock: operator.machine.clock,
    alarm: (ms: number, ring: () => void) => {
      waits();
      return clock.schedule(ms, () => {
        const phase = new Promise<void>((resolve) => {
          waits = resolve;
        });
        ring();
        return phase;
      });
    },
  };
  let waits = (): void => {};
  const begun = new Promise<void>((resolve) => {
    waits = resolve;
  });
  const change = async (): Promise<void> => {
    try {
      await setCampaign(deps, id, { message, ...others });
      checker.textAnswered(id, message);
      trace.add('operator', `${id} has the text ${message}`);
    } catch (error) {
      if (!(error instanceof StateError || error instanceof RecoveringError)) throw error;
      trace.add('operator', `change of ${id}: ${error.message}`);
    }
  };
  change()
    .catch((error: unknown) => world.fail(error))
    .finally(() => waits());
  await begun;
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
