import type { InboundService } from '../../../src/engine/inbound/inbound-service.js';
import type { Lane } from '../../../src/engine/lane/lane.js';
import { checkOldCampaigns } from '../../../src/engine/recovery/old-campaigns.js';
import { removeCampaign } from '../../../src/engine/recovery/retention.js';
import { tendOutboxes } from '../../../src/intake/outbox/tending/tend-lane.js';
import type { World } from '../world.js';
import type { Process } from './process.js';

/** Sweeps all lanes once, as a worker does. */
export async function sweepLanes(
  world: World,
  process: Process,
  lanes: readonly Lane[],
  inbound: InboundService | undefined,
): Promise<void> {
  const { keys, jobs, scenario } = world;
  const { redis, events } = process;
  const options = {
    redis,
    keys,
    lanes: () => [],
    wakers: jobs,
    events,
    retentionMs: scenario.config.retentionMs,
    discardImport: async () => {},
    alive: async () => [],
    openingsOf: world.openingsOf,
    tendOutboxes: (lane: string) => tend(process, process.laneNamed(lane)),
    tendInbound: async (lane: string) => inbound?.tend(lane),
    removeCampaign: async (lane: string, id: string) => void (await removeCampaign(redis, keys, lane, id)),
  };
  const alive = world.allProcesses.filter(({ isAlive }) => isAlive).map(({ name }) => name);
  await Promise.all(lanes.map((lane) => world.parts.sweep(lane, options, alive)));
}

/** Has the outbox of a lane forget what is old, as app/runtime/start-workers.ts does. */
async function tend({ config, machine }: Process, lane: Lane): Promise<void> {
  const { retentionMs, maxCampaignAgeMs, followUpPastMaxAgeMs } = config;
  const openForMs = maxCampaignAgeMs + followUpPastMaxAgeMs;
  await tendOutboxes(lane, { clock: machine.clock, retentionMs, openForMs });
}

/** Removes what lost campaigns have left, as recovery/data-removal.ts does every hour. */
export async function removeRemains(
  { keys, server }: World,
  process: Process,
  lanes: readonly (readonly [name: string, lane: Lane])[],
): Promise<void> {
  const { config } = process;
  const options = {
    redis: process.redis,
    keys,
    finder: { withId: async (id: string) => process.laneNamed(id), configured: async () => new Map(lanes) },
    events: process.events,
    retentionMs: config.retentionMs,
    maxCampaignAgeMs: config.maxCampaignAgeMs,
    followUpPastMaxAgeMs: config.followUpPastMaxAgeMs,
    discardImport: async () => {},
    removeCampaign: async () => {},
  };
  await checkOldCampaigns(options, server.time);
}
