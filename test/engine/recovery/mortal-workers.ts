import type { ClaimReply } from '../../../src/engine/claim/claim-reply.js';
import { type BarrierReport, reportToBarrier } from '../../../src/engine/recovery/replay-claims.js';
import type { LaneStore } from '../../../src/engine/scripts/lane-script.js';
import type { ScriptEvent } from '../../../src/engine/scripts/script-events.js';
import type { ScriptRules } from '../../../src/engine/scripts/script-rules.js';
import type { SendClaim } from '../../../src/engine/sending/send-claim.js';
import { sendClaims } from '../../../src/engine/sending/send-claims.js';
import type { testRedis } from '../../base/redis/test-redis.js';
import { laneFixture, START } from '../lane/lane-fixture.js';
import { losableServer } from '../losable-server.js';

/** What the server may lose, if a test does not say otherwise. */
export const LOSS_MS = 2_000;

/** A process reports that it begins to replay its claims, and then that it has replayed them. Returns the events of both. */
export async function reportReplay(
  store: LaneStore,
  self: Parameters<typeof reportToBarrier>[2],
  details: Parameters<typeof reportToBarrier>[3] = {},
): Promise<readonly ScriptEvent[]> {
  const begun = await reportToBarrier(store, 'replaying', self, details);
  const ended = await reportToBarrier(store, 'replayed', self, { ...details, after: begun.lossName });
  return [...begun.events, ...ended.events];
}

/** A lane with workers that may die, on a server that may lose all writes after `backUp`. */
export async function laneWithWorkers(
  { redis, prefix }: Pick<ReturnType<typeof testRedis>, 'redis' | 'prefix'>,
  name: string,
  recipients: number,
  change: Partial<ScriptRules> = {},
  loss = LOSS_MS,
) {
  const lane = laneFixture(redis, `${prefix}-${name}`, 'default', change);
  // It was sent from for long.
  await lane.campaign('c', recipients, { launchAt: START - 3_600_000 });
  const server = losableServer(redis, `${prefix}-${name}`);
  const seen = new Map<string, number>();
  let [turns, mayLose] = [0, loss];
  const self = (process: string) => ({
    process,
    seen: seen.get(process) ?? 0,
    mayLoseMs: mayLose,
    withReplicaMs: mayLose,
  });
  const report = (action: BarrierReport, process: string, now: number) =>
    reportToBarrier(lane.store, action, self(process), { now });
  return {
    ...lane,
    join: (process: string, now: number) => report('join', process, now),
    attend: (process: string, now: number) => report('attend', process, now),
    leave: (process: string, now: number) => report('leave', process, now),
    /** The process begins and ends its replay at that time. */
    replayed: (process: string, now: number, restored = 0, polls = 0) =>
      reportReplay(lane.store, self(process), { restored, polls, now }),
    /** `changed`: the rules of a process with other settings. */
    async claim(
      process: string,
      want: number,
      now: number,
      changed: Partial<ScriptRules> = {},
    ): Promise<ClaimReply<SendClaim>> {
      turns += 1;
      const store = { ...lane.store, rules: { ...lane.rules, ...changed } };
      const reply = await sendClaims(store).take({ turn: `t${turns}`, call: 1, want, ...self(process), now });
      for (const { number } of reply.claims) seen.set(process, Math.max(seen.get(process) ?? 0, number));
      return reply;
    },
    accept: (claims: readonly SendClaim[], now: number) =>
      lane.settle(claims, 'accepted', now, { letter: 'T' }),
    backUp: server.backUp,
    /** Replaces the server by one that has lost all writes after `backUp`. */
    async failOver(): Promise<void> {
      await server.lose();
      await lane.stored.changeServer();
    },
    /** From now on, the server may lose as much. */
    mayLose(ms: number): void {
      mayLose = ms;
    },
    /** These processes join at `START`, and then the server is backed up. */
    async backUpWith(...processes: readonly string[]): Promise<void> {
      for (const process of processes) await this.join(process, START);
      await this.backUp();
    },
    /** These processes join at `START`, and then the server fails over without having lost their joining. */
    async failOverWith(...processes: readonly string[]): Promise<void> {
      await this.backUpWith(...processes);
      await this.failOver();
    },
    /** Claims and accepts everything from that time on. */
    async claimAll(process: string, from: number, changed: Partial<ScriptRules> = {}): Promise<SendClaim[]> {
      const claimed: SendClaim[] = [];
      let now = from;
      for (let tries = 0; tries < 200; tries += 1) {
        const { claims, why, againInMs } = await this.claim(process, 32, now, changed);
        claimed.push(...claims);
        await this.accept(claims, now);
        if (why === 'nothing') return claimed;
        now += Math.max(1, againInMs ?? 0);
      }
      throw new Error('the lane never says that nothing is left');
    },
    /** The same; returns the ordinals. */
    async claimRest(process: string, from: number): Promise<number[]> {
      return (await this.claimAll(process, from)).map(({ first }) => first);
    },
    workers: async () => Object.keys(await lane.stored.workers()).sort(),
  };
}
