import type { Clock } from '../../../src/base/clock.js';
import type { Redis } from '../../../src/base/redis/connection.js';
import { sweepLaneState } from '../../../src/engine/recovery/sweep.js';
import type { LaneStore } from '../../../src/engine/scripts/lane-script.js';
import { createServerClock } from '../../../src/engine/scripts/server-clock.js';
import type { SendClaim } from '../../../src/engine/sending/send-claim.js';
import { sendClaims } from '../../../src/engine/sending/send-claims.js';
import { settleSends } from '../../../src/engine/sending/settlements.js';
import { laneFixture, START } from '../lane/lane-fixture.js';

export const [SECOND, MINUTE, HOUR] = [1_000, 60_000, 3_600_000];

/** A lane of 100 sends an hour, on a Redis whose clock may be wrong by `skew`. */
export async function steppingLane(
  redis: Redis,
  prefix: string,
  name: string,
  change: Parameters<typeof laneFixture>[3] = {},
) {
  const rules = { quota: 100, inFlight: 1_000, pollShare: 0, ...change };
  const fixture = laneFixture(redis, prefix, name, rules);
  await fixture.campaign('c', 1_000);
  let [elapsed, skew, turns] = [0, 0, 0];
  const now = (): number => START + elapsed + skew;
  const changes: number[] = [];

  /** A worker process, with the clocks of its own machine. */
  function worker(monotonic: Clock = () => elapsed) {
    const serverClock = createServerClock({ monotonic, uptime: monotonic });
    const store: LaneStore = {
      ...fixture.store,
      serverClock: {
        ...serverClock,
        get isDue() {
          return serverClock.isDue;
        },
        // The scripts read the time of this test before the expectation.
        get expectation() {
          return `${now()}${serverClock.expectation}`;
        },
      },
      clockChanged: (byMs) => void changes.push(byMs),
    };
    const settle = (claims: readonly SendClaim[], letters = 'T') =>
      settleSends(
        store,
        claims.map(
          (claim) => ({ claim, result: 'accepted', letters, requestId: `r${claim.number}` }) as const,
        ),
        0,
      );
    return {
      store,
      settle,
      async claim(want = 1_000) {
        turns += 1;
        return sendClaims(store).take({ turn: `t${turns}`, call: 1, want });
      },
      /** Sends as much as the lane allows. Returns how many batches that were. */
      async send(want = 1_000): Promise<number> {
        const { claims } = await this.claim(want);
        await settle(claims);
        return claims.length;
      },
      sweep: () => sweepLaneState(store, HOUR),
    };
  }
  return {
    fixture,
    changes,
    worker,
    now,
    pass: (ms: number) => {
      elapsed += ms;
    },
    /** Sets the clock of Redis forward, or back. */
    step: (ms: number) => {
      skew += ms;
    },
  };
}
