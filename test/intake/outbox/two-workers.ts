import type { Redis } from '../../../src/base/redis/connection.js';
import { reportToBarrier } from '../../../src/engine/recovery/replay-claims.js';
import type { ScriptRules } from '../../../src/engine/scripts/script-rules.js';
import type { SendClaim } from '../../../src/engine/sending/send-claim.js';
import { losableServer } from '../../engine/losable-server.js';
import { reportReplay } from '../../engine/recovery/mortal-workers.js';
import { outboxFixture } from './outbox-fixture.js';

/** How much the server may lose. */
export const LOSS = 2_000;

/** A lane with the workers `a` and `b`, of which `a` dies together with what Redis has stored last. */
export async function twoWorkers(
  redis: Redis,
  prefix: string,
  change: Partial<ScriptRules> = {},
  lateMs?: number,
) {
  const own = await outboxFixture(redis, prefix, { inFlight: 1_000, ...change }, lateMs);
  let turns = 0;
  const self = (process: string) => ({ process, seen: 0, mayLoseMs: LOSS, withReplicaMs: LOSS });
  const claim = async (process: string, want = 1_000) => {
    turns += 1;
    const turn = `${process}${turns}`;
    return (await own.claims.send({ turn, call: 1, want, ...self(process), now: own.now() })).claims;
  };
  /** The process has replayed all its claims. */
  const replayed = (process: string) => reportReplay(own.laneStore, self(process), { now: own.now() });
  const server = losableServer(redis, prefix);
  for (const process of ['a', 'b'])
    await reportToBarrier(own.laneStore, 'join', self(process), { now: own.now() });
  await claim('a');
  own.advance(2 * LOSS);
  return {
    ...own,
    claim,
    backUp: () => server.backUp(),
    async lose(): Promise<void> {
      await server.lose();
      await own.stored.changeServer();
    },
    replayed,
    /** What `b` claims when the lane has recovered. */
    async recover(): Promise<SendClaim[]> {
      await claim('b');
      await replayed('b');
      own.advance(2 * own.rules.grace);
      const claimed: SendClaim[] = [];
      for (let calls = 0; calls < 10; calls += 1) claimed.push(...(await claim('b')));
      return claimed;
    },
  };
}
