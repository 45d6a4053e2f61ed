import { expect, onTestFinished, test } from 'vitest';
import { systemMachine } from '../../../src/base/clock.js';
import { connect } from '../../../src/base/redis/connection.js';
import { findServer } from '../../../src/base/redis/find-server.js';
import { startPrivateRedis } from '../../../src/base/redis/private-server.js';
import type { LaneStore } from '../../../src/engine/scripts/lane-script.js';
import { createServerClock } from '../../../src/engine/scripts/server-clock.js';
import { sendClaims } from '../../../src/engine/sending/send-claims.js';
import { settleSends } from '../../../src/engine/sending/settlements.js';
import { canSetClock, settableClock } from '../../base/redis/servers/settable-clock.js';
import { laneFixture } from '../lane/lane-fixture.js';

const server = await findServer();

/** A real Redis whose wall clock can be set, in seconds from the actual time. */
async function settableRedis(program: string) {
  const clock = await settableClock();
  const redis = await startPrivateRedis({
    appendfsync: 'everysec',
    program: await clock.wrapped(program),
  });
  const client = connect(redis.url);
  onTestFinished(async () => {
    client.disconnect();
    await redis.stop();
    await clock.remove();
  });
  return { redis: client, set: clock.set };
}

test.skipIf(server === undefined || !(await canSetClock()))(
  'A Redis whose clock is set forward by two hours, and back, permits no request more',
  async () => {
    const { redis, set } = await settableRedis(server ?? '');
    const { store, campaign } = laneFixture(redis, 'faked', 'default', {
      quota: 100,
      inFlight: 1_000,
      pollShare: 0,
    });
    await campaign('c', 1_000);
    const changes: number[] = [];
    const worker: LaneStore = {
      ...store,
      serverClock: createServerClock(systemMachine),
      clockChanged: (byMs) => void changes.push(Math.round(byMs / 60_000)),
    };
    let turns = 0;
    const send = async (): Promise<number> => {
      turns += 1;
      const { claims } = await sendClaims(worker).take({ turn: `t${turns}`, call: 1, want: 1_000 });
      const accepted = claims.map(
        (claim) => ({ claim, result: 'accepted', letters: 'T', requestId: `r${claim.number}` }) as const,
      );
      await settleSends(worker, accepted, 0);
      return claims.length;
    };
    const hours = async (): Promise<number> =>
      Math.round((Number((await redis.time())[0]) * 1_000 - Date.now()) / 3_600_000) + 0;

    expect(await send()).toBe(100);
    await set(7_200);
    expect(await hours()).toBe(2);
    expect(await send()).toBe(0);
    await set(0);
    expect(await hours()).toBe(0);
    expect(await send()).toBe(0);
    await set(-7_200);
    expect(await hours()).toBe(-2);
    expect(await send()).toBe(0);
    await set(0);
    expect(await send()).toBe(0);
    expect(changes).toEqual([120, -120, -120, 120]);
  },
);
