import { onTestFinished } from 'vitest';
import type { Volley } from '../../src/app/runtime.js';
import type { CampaignStatus } from '../../src/campaign/views/views.js';
import { type Fleet, type FleetOptions, startFleet } from './fleet.js';

/** Starts a fleet for the current test, waits until it is ready, and closes it when the test ends. */
export async function startedFleet(options: FleetOptions): Promise<Fleet> {
  const fleet = await startFleet(options);
  onTestFinished(() => fleet.close());
  await fleet.ready();
  return fleet;
}

/** Imports and launches a campaign and returns its id. Throws if no campaign was created. */
export async function launch(
  fleet: Fleet,
  input: Parameters<Fleet['volley']['enqueue']>[0],
): Promise<string> {
  const outcome = await fleet.volley.enqueue(input);
  if (outcome.outcome !== 'created') throw new Error(`the import was ${outcome.outcome}`);
  return outcome.id;
}

/** Waits until a campaign has ended. Throws with its current status if that takes longer than `withinMs`. */
export async function finished(volley: Volley, id: string, withinMs: number): Promise<CampaignStatus> {
  const signal = AbortSignal.timeout(withinMs);
  try {
    return await volley.finished(id, { signal });
  } catch (error) {
    if (!signal.aborted) throw error;
    const status = JSON.stringify(await volley.status(id), null, 1);
    throw new Error(`the campaign has not ended within ${withinMs} ms: ${status}`, { cause: error });
  }
}
