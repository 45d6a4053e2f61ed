import { onTestFinished } from 'vitest';
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
