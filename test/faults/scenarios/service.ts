import { setTimeout as delay } from 'node:timers/promises';
import { integerBetween, pick, type Scenario, shuffled } from '../scenario.js';
import { MAX_IN_FLIGHT } from '../world.js';

/** An idle process makes no requests; then the next fault follows. */
const TRIGGERED_WITHIN_MS = 1_500;

const cuts: Scenario = {
  name: 'service-cut',
  description:
    'connections to the service are cut before the request, after it, and before the reply arrives',
  workers: ['all', 'all'],
  seconds: 8,
  async run({ fleet, proxiesOf, recorder, random, traffic }) {
    await traffic(2);
    const cutPoints = [
      { on: 'request', action: 'cutBefore' },
      { on: 'request', action: 'cutAfter' },
      { on: 'reply', action: 'cutBefore' },
    ] as const;
    const all = cutPoints.flatMap((cutPoint) =>
      fleet.members.flatMap((member) => [
        { ...cutPoint, member },
        { ...cutPoint, member },
      ]),
    );
    for (const { on, action, member } of shuffled(all, random)) {
      await delay(integerBetween(0, 400, random));
      const { service: proxy } = proxiesOf(member);
      const target = `${member.kind} ${member.place} to service, ${on}`;
      await recorder.fault(
        { fault: action, target, losesData: false, mayBeUnknown: 0, cuts: 1 },
        async () => {
          await Promise.race([proxy.trap({ on, action }), delay(TRIGGERED_WITHIN_MS)]);
          proxy.disarm();
        },
      );
    }
  },
};

const slow: Scenario = {
  name: 'service-slow',
  description: 'requests and replies are delayed, or replies arrive byte by byte and too late',
  workers: ['all', 'all'],
  seconds: 8,
  async run({ fleet, proxiesOf, recorder, random, traffic }) {
    const late = { fault: 'delay', shape: { delayMs: integerBetween(200, 600, random), dripMs: 0 } };
    const drip = { fault: 'drip', shape: { delayMs: 0, dripMs: pick([1, 10], random) } };
    for (const { fault, shape } of shuffled([late, drip], random)) {
      await traffic(2);
      await recorder.fault(
        { fault, target: 'service', losesData: false, mayBeUnknown: 2 * MAX_IN_FLIGHT },
        async () => {
          for (const member of fleet.members) proxiesOf(member).service.shapeTraffic(shape);
          await delay(integerBetween(2_000, 5_000, random));
          for (const member of fleet.members)
            proxiesOf(member).service.shapeTraffic({ delayMs: 0, dripMs: 0 });
        },
      );
    }
    await traffic(2);
  },
};

export const SERVICE_SCENARIOS: readonly Scenario[] = [cuts, slow];
