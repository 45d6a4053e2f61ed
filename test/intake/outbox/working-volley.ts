import type { Scene, Settings } from '../../scene/scene.js';

export const NUMBER = '+447700900123';
/** Soon, also on a busy machine. */
export const SOON = { timeout: 20_000, interval: 50 };

let started = 0;

/** A Volley that works against a simulator. */
export async function workingVolley({ open, startSimulator, prefix }: Scene, settings: Settings = {}) {
  const simulator = await startSimulator({ keys: [{ key: 'k' }], deliveryTime: 50 });
  started += 1;
  const volley = open({
    ...simulator.settings,
    REDIS_PREFIX: `${prefix}-${started}`,
    API_KEY: 'k',
    HOURLY_QUOTA: '100000',
    SENDER_ADDRESS: 'ACME',
    FOLLOW_UP_FIRST_MS: '100',
    ...settings,
  });
  await volley.work().ready;
  const texts = (): string[] => [...simulator.ledger.entries()].map(({ text }) => text);
  return { volley, simulator, texts };
}
