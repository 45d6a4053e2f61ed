import { setTimeout as delay } from 'node:timers/promises';
import type { Random } from '../../../src/base/clock.js';
import { IN_FLIGHT } from '../../../src/engine/scripts/rules.js';
import { startFleet } from '../../end-to-end/fleet.js';
import { createHistory } from '../history.js';
import { createRecorder } from '../recorder.js';
import { settle } from '../settle.js';
import type { Attack, Stage } from './attack.js';
import { otherTime } from './other-time.js';

/** How long a kill waits for traffic. */
const TRAFFIC_WITHIN_MS = 90_000;

/** How an attack is run. */
export interface Means extends Pick<Stage, 'redis' | 'times' | 'note'> {
  readonly seed: number;
  readonly random: Random;
}

/**
 * Starts the fleet of an attack and waits until it is ready. Close it, or its processes keep running. One with a time of its own has a Redis of
 * its own.
 */
export async function startStage(
  attack: Attack,
  { seed, ...means }: Means,
): Promise<Stage & { close(): Promise<void> }> {
  const { quotas = [], beginsAt, ...own } = await attack.fleet(means.times);
  const { mayBeUnknown = IN_FLIGHT * (own.lanes?.length ?? 1) } = own;
  const other = beginsAt === undefined ? undefined : await otherTime(beginsAt);
  const redis = other?.redis ?? means.redis;
  const fleet = await startFleet({
    ...own,
    clock: other?.environment,
    simulator: { ...own.simulator, wholeArrivals: true },
    redisUrl: redis.url,
    prefix: `attack-${attack.name}`,
  }).catch(async (error: unknown) => {
    await other?.close();
    throw error;
  });
  const history = createHistory(() => Date.now());
  const recorder = createRecorder(history, fleet.volley);
  const close = async (): Promise<void> => {
    await recorder.stop();
    await fleet.close();
    await other?.close();
  };
  history.add({ type: 'run', at: history.clock(), scenario: attack.name, seed, quotas });
  await fleet.ready().catch(async (error: unknown) => {
    await close();
    throw error;
  });
  let kills = 0;
  let settled: Promise<string> | undefined;
  const kill: Stage['kill'] = async (member) => {
    const target = `${member.kind} ${member.place}`;
    const sends = member.kind === 'send' || member.kind === 'all';
    const fault = { fault: 'SIGKILL', target, losesData: false, mayBeUnknown: sends ? mayBeUnknown : 0 };
    await recorder.fault(fault, () => fleet.kill(member));
    kills += 1;
    means.note(`${kills} kills`);
  };
  const accepted = async (): Promise<number> => (await fleet.simulator.summary()).recipients;
  return {
    ...means,
    redis,
    fleet,
    recorder,
    close,
    mayBeUnknown,
    kill,
    accepted,
    kills: () => kills,
    expect(isSo, what) {
      if (!isSo) history.add({ type: 'problem', at: history.clock(), what });
    },
    async killOften(most, ready, signal) {
      const over = new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve()));
      const { members } = fleet;
      while (kills < most) {
        await Promise.race([ready(), over]);
        const member = members[kills % members.length];
        if (member === undefined || signal?.aborted) return;
        await kill(member);
      }
    },
    async traffic() {
      const before = await accepted();
      for (const deadline = Date.now() + TRAFFIC_WITHIN_MS; Date.now() < deadline; await delay(20))
        if ((await accepted()) > before) return;
    },
    settled: () => (settled ??= settle(recorder)),
  };
}
