import { setTimeout as delay } from 'node:timers/promises';
import { between, oneOf, type Scenario, shuffled } from '../scenario.js';
import { ON_THE_WIRE } from '../world.js';

/** The most recipients of one request. */
const A_BATCH = 3;
/** A process that serves no lane at the moment makes no requests; the next fault does not wait for it. */
const SPRUNG_WITHIN_MS = 1_500;

const cuts: Scenario = {
  name: 'service-cut',
  does: 'connections to the service break: before the request, after it, and before the reply comes through',
  workers: ['all', 'all'],
  seconds: 8,
  async run({ fleet, linksOf, recorder, random, traffic }) {
    await traffic(2);
    const ways = [
      { on: 'request', deed: 'cutBefore' },
      { on: 'request', deed: 'cutAfter' },
      { on: 'reply', deed: 'cutBefore' },
    ] as const;
    const all = ways.flatMap((way) =>
      fleet.members.flatMap((member) => [
        { ...way, member },
        { ...way, member },
      ]),
    );
    for (const { on, deed, member } of shuffled(all, random)) {
      await delay(between(0, 400, random));
      const { service: link } = linksOf(member);
      const target = `${member.kind} ${member.place} to service, ${on}`;
      await recorder.fault({ fault: deed, target, forgets: false, mayLeave: A_BATCH }, async () => {
        await Promise.race([link.trap({ on, deed }), delay(SPRUNG_WITHIN_MS)]);
        link.disarm();
      });
    }
  },
};

const slow: Scenario = {
  name: 'service-slow',
  does: 'what goes to the service and back is late, or comes byte by byte and not in time',
  workers: ['all', 'all'],
  seconds: 8,
  async run({ fleet, linksOf, recorder, random, traffic }) {
    const late = { fault: 'delay', road: { delayMs: between(200, 600, random), dripMs: 0 } };
    const drip = { fault: 'drip', road: { delayMs: 0, dripMs: oneOf([1, 10], random) } };
    for (const { fault, road } of shuffled([late, drip], random)) {
      await traffic(2);
      await recorder.fault(
        { fault, target: 'service', forgets: false, mayLeave: 2 * ON_THE_WIRE },
        async () => {
          for (const member of fleet.members) linksOf(member).service.travel(road);
          await delay(between(2_000, 5_000, random));
          for (const member of fleet.members) linksOf(member).service.travel({ delayMs: 0, dripMs: 0 });
        },
      );
    }
    await traffic(2);
  },
};

export const SERVICE_SCENARIOS: readonly Scenario[] = [cuts, slow];
