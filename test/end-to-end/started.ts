import { onTestFinished } from 'vitest';
import type { CampaignStatus } from '../../src/campaign/views.js';
import type { Volley } from '../../src/runtime.js';
import { type Fleet, type FleetOptions, startFleet } from './fleet.js';

/** A fleet that takes work, for the test that asks; its processes end with the test. */
export async function startedFleet(options: FleetOptions): Promise<Fleet> {
  const fleet = await startFleet(options);
  onTestFinished(() => fleet.close());
  await fleet.ready();
  return fleet;
}

/** Imports and launches a campaign; its id. Throws where nothing was made. */
export async function launch(
  fleet: Fleet,
  input: Parameters<Fleet['volley']['enqueue']>[0],
): Promise<string> {
  const outcome = await fleet.volley.enqueue(input);
  if (outcome.kind !== 'created') throw new Error(`the import was ${outcome.kind}`);
  return outcome.id;
}

/** How a campaign ended. Throws, with how it stands then, where it has not ended within that time, ms. */
export async function finished(volley: Volley, id: string, withinMs: number): Promise<CampaignStatus> {
  const signal = AbortSignal.timeout(withinMs);
  try {
    return await volley.finished(id, { signal, everyMs: 200 });
  } catch (error) {
    if (!signal.aborted) throw error;
    const stands = JSON.stringify(await volley.status(id), null, 1);
    throw new Error(`the campaign has not ended within ${withinMs} ms: ${stands}`, { cause: error });
  }
}
