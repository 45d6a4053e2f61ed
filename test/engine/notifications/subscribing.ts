import { afterEach, beforeEach } from 'vitest';
import { type CallbackSettings, laneCallback } from '../../../src/base/config/index.js';
import { laneTokenSource } from '../../../src/engine/lane/lane-token-source.js';
import { subscriptionService } from '../../../src/engine/notifications/subscription-service.js';
import { createSubscriptionClient } from '../../../src/service/client/subscriptions.js';
import { type Simulator, startSimulator } from '../../../src/tools/simulator/index.js';

export const CALLBACK: CallbackSettings = {
  url: 'https://volley.example/in',
  securityToken: 'a-token-of-some-length',
  proof: 'token',
};
export const FOREIGN = { url: 'https://other.example/hook/their-secret', securityToken: 'theirs' };
export const OWN = laneCallback(CALLBACK, 'main');

export const tokenSource = laneTokenSource('main', { kind: 'apiKey', apiKey: 'key' }, undefined);
export const clientOf = (baseUrl: string) => createSubscriptionClient({ baseUrl, timeoutMs: 10_000 });

/** Starts a simulator for each test of the file. */
export function atSimulator() {
  let simulator: Simulator;
  beforeEach(async () => {
    simulator = await startSimulator({ keys: [{ key: 'key', quota: 1 }] });
  });
  afterEach(() => simulator.close());
  return {
    /** The simulator of the current test. */
    simulator: () => simulator,
    serviceOf: (callback: CallbackSettings | undefined = CALLBACK, baseUrl = simulator.messagingBaseUrl) =>
      subscriptionService({ lane: 'main', client: clientOf(baseUrl), tokenSource, callback }),
    /** What the simulator holds. */
    held: () => clientOf(simulator.messagingBaseUrl).get({ authorization: 'key' }),
  };
}
