import { setTimeout as delay } from 'node:timers/promises';
import { integerBetween, type Scenario } from '../scenario.js';
import { MAX_IN_FLIGHT, type World } from '../world.js';
import { CLAIMED, caught, stopped } from './processes.js';

/** A process is stopped at most this long before the window closes: its claims are not overdue yet when it continues. */
const STOPPED_BEFORE_MS = 1_200;
/** It continues this long after the closing: a request that left in time has arrived by then. */
const CONTINUES_AFTER_MS = [1_000, 2_500] as const;

const windowClosed: Scenario = {
  name: 'window-stop',
  description:
    'the windows of a lane and of a campaign open and close; at each closing, a sending process is suspended after it has claimed or connected, until they are closed',
  workers: ['send', 'send', 'follow-up'],
  seconds: 50,
  openings: [
    [0, 7],
    [13, 20],
    [26, 33],
    [39, 3_600],
  ],
  stoppedClocks: [[], ['monotonic', 'wall']],
  async run(world) {
    for (const [at, { from, until }] of world.openings.entries()) {
      await delay(from - Date.now());
      // What waited for the opening is sent.
      await world.traffic(3);
      if (at < world.openings.length - 1) await stoppedAcross(world, until, at % 2 === 1);
    }
  },
};

export const WINDOW_SCENARIOS: readonly Scenario[] = [windowClosed];

/** Stops a sending process shortly before `closing`, and lets it continue after it. `isConnecting`: when it has connected to the service. */
async function stoppedAcross(world: World, closing: number, isConnecting: boolean): Promise<void> {
  const { recorder, random, senders, proxiesOf } = world;
  await delay(closing - integerBetween(300, STOPPED_BEFORE_MS, random) - Date.now());
  const catching = caught(world, (one, action) =>
    isConnecting
      ? proxiesOf(one).service.trap({ on: 'connection', action })
      : proxiesOf(one).redis.trap({ on: 'reply', matching: CLAIMED, action }),
  );
  if (isConnecting) {
    // Each of the next requests needs a new connection.
    const cut = {
      fault: 'cut',
      target: 'service of all senders',
      losesData: false,
      mayBeUnknown: MAX_IN_FLIGHT,
    };
    await recorder.fault(cut, async () => {
      for (const one of senders) proxiesOf(one).service.cut();
    });
  }
  const member = await catching;
  await stopped(world, member, () =>
    delay(closing + integerBetween(...CONTINUES_AFTER_MS, random) - Date.now()),
  );
}
