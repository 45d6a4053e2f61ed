import { setTimeout as delay } from 'node:timers/promises';
import { integerBetween, type Scenario } from '../scenario.js';
import type { World } from '../world.js';
import { caught, stopped } from './processes.js';

/** A process is stopped when a claim reply has at least so many batches: what it writes when it continues is then many requests. */
const SEVERAL = 8;
const CLAIMED_SEVERAL = new RegExp(`(?:"call":\\d[^]*){${SEVERAL}}`);

/**
 * The service holds its responses back from shortly before the closing, until all requests that may be in flight are. When they arrive
 * together, the next claim is for many batches.
 */
const HELD_BEFORE_MS = 1_500;
const RELEASED_BEFORE_MS = 900;
/** How long a process has to read that its connections have ended. */
const READS_WITHIN_MS = 100;
/** A stopped process continues this long after the closing. Its claims are not overdue by then. */
const CONTINUES_AFTER_MS = [300, 1_200] as const;
/** At so many closings, a process is stopped. */
const STOPS = 3;

const windowClosed: Scenario = {
  name: 'window-stop',
  description:
    'the windows of a lane and of a campaign open and close; at the closings, a sending process that holds many claims is suspended, before it reads them or while it connects',
  workers: ['send', 'send', 'follow-up'],
  seconds: 55,
  quota: 2,
  // On a busy machine, no process may hold several claims at some closings.
  openings: [...Array.from({ length: 5 }, (_, at) => [7 * at, 7 * at + 4] as const), [35, 3_600]],
  stoppedClocks: [[], ['monotonic', 'wall']],
  async run(world) {
    let stops = 0;
    for (const { from, until } of world.openings.slice(0, -1)) {
      await delay(from - Date.now());
      // What waited for the opening is sent.
      await world.traffic(3);
      if (stops < STOPS && (await stoppedAcross(world, until, stops % 2 === 1))) stops += 1;
    }
    if (stops === 0) throw new Error(`no process held ${SEVERAL} claims at a closing`);
  },
};

export const WINDOW_SCENARIOS: readonly Scenario[] = [windowClosed];

/**
 * Stops a sending process that holds several claims shortly before `closing`, lets it continue after it, and returns whether there was
 * one. `isConnecting`: when it connects for their requests, otherwise before it reads the claims.
 */
async function stoppedAcross(world: World, closing: number, isConnecting: boolean): Promise<boolean> {
  const { random, senders, proxiesOf } = world;
  const proxies = senders.map(proxiesOf);
  const isOpen = (): boolean => Date.now() < closing;
  await delay(closing - HELD_BEFORE_MS - Date.now());
  for (const { service } of proxies) service.hold();
  await delay(closing - RELEASED_BEFORE_MS - Date.now());
  const catching = caught(world, async (one, action) => {
    const { redis, service } = proxiesOf(one);
    await redis.trap({
      on: 'reply',
      matching: CLAIMED_SEVERAL,
      async action() {
        if (!isConnecting) return action();
        // Each of the requests needs a new connection.
        service.endIdle();
        await delay(READS_WITHIN_MS);
        if (isOpen()) void service.trap({ on: 'connection', action });
      },
    });
  });
  for (const { service } of proxies) service.release();
  const member = await Promise.race([catching, delay(closing - Date.now())]);
  if (member === undefined) {
    for (const { redis, service } of proxies) {
      redis.disarm();
      service.disarm();
    }
    return false;
  }
  await stopped(world, member, () =>
    delay(closing + integerBetween(...CONTINUES_AFTER_MS, random) - Date.now()),
  );
  return true;
}
