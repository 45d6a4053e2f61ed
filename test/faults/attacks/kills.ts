import { setTimeout as delay } from 'node:timers/promises';
import { laneCredentials } from '../../end-to-end/fleet.js';
import { recipients } from '../../end-to-end/recipients.js';
import { pick, shuffled } from '../scenario.js';
import type { Attack } from './attack.js';
import { followResults } from './results-platform.js';
import { usageProblems } from './usage.js';

/** Redis is killed once per 20 kills of worker processes. */
const WORKER_KILLS_PER_REDIS_KILL = 20;
const REDIS_AWAY_MS = 500;
const [LANES, QUOTA] = [4, 600];
const WINDOW_MS = 10_000;
const LATENCY_MS = 300;
/** The mean time between two kills. */
const EVERY_MS = 600;
/** A lane with fewer planned recipients gets its next campaign. */
const MIN_PLANNED = 200;

/** Runs campaigns with one recipient per request while worker processes and Redis are killed at random. */
function kills(profile: 'v1' | 'v3'): Attack {
  const lanes = Array.from({ length: LANES }, (_, at) => {
    const name = `lane-${at}`;
    return { name, ...laneCredentials(profile, name) };
  });
  return {
    name: profile === 'v1' ? 'kills' : 'kills-v3',
    promise: `No recipient is sent to twice, none is lost, and every result is delivered while workers and Redis are killed, with profile ${profile}`,
    times: { of: 'kills', brief: 6, long: 1_000 },
    seed: 2026,
    fleet: () => ({
      profile,
      // Where the service deduplicates, the requests of a killed process are sent again.
      ...(profile === 'v3' ? { mayBeUnknown: 0 } : {}),
      workers: ['send', 'send', 'follow-up', 'all'],
      settings: { QUOTA_WINDOW_MS: String(WINDOW_MS), REQUEST_TIMEOUT_MS: String(WINDOW_MS / 10) },
      quotas: lanes.map(({ keyName: key }) => ({ key, quota: QUOTA, windowMs: WINDOW_MS })),
      lanes: lanes.map(({ name, lane }) => ({ name, ...lane, hourlyQuota: QUOTA, pacing: 'smooth' })),
      simulator: {
        keys: lanes.map(({ key }) => ({ ...key, quota: QUOTA, windowMs: WINDOW_MS })),
        clients: lanes.flatMap(({ clients }) => clients),
        latency: { kind: 'uniform', minMs: LATENCY_MS * 0.5, maxMs: LATENCY_MS * 1.5 },
        deliveryTime: 300,
      },
    }),
    async run({ fleet, recorder, redis, random, times, mayBeUnknown, kill, settled, expect, note }) {
      const { volley } = fleet;
      const platform = followResults(volley, random);
      let isOver = false;
      /** Launches campaigns on the lane, one after the other. */
      const feed = async ({ name, keyName }: (typeof lanes)[number]): Promise<void> => {
        let [last, number] = ['', 0];
        for (; !isOver; await delay(500)) {
          const planned = last === '' ? 0 : (await recorder.status(last))?.counts.planned;
          if (planned === undefined || planned >= MIN_PLANNED) continue;
          const message = `Sale ${number} on ${name}`;
          // A brief run ends soon after the last kill.
          const count = times < 100 ? 600 : 2_000;
          const input = { recipients: [...recipients(count)], message, lane: name };
          // Redis may be killed before it answers. The idempotency key prevents a second campaign.
          const launched = await recorder
            .launch({ ...input, idempotencyKey: message }, keyName)
            .catch(() => '');
          if (launched !== '') [last, number] = [launched, number + 1];
        }
      };
      const feeding = lanes.map(feed);
      const redisKills = Math.ceil(times / WORKER_KILLS_PER_REDIS_KILL);
      const order = shuffled([...Array(times).fill('worker'), ...Array(redisKills).fill('redis')], random);
      for (const what of order) {
        await delay(EVERY_MS * (0.5 + random()));
        if (what === 'worker') await kill(pick(fleet.members, random));
        else
          await recorder.fault(
            { fault: 'kill', target: 'redis', losesData: false, mayBeUnknown },
            async () => {
              await redis.kill();
              await delay(REDIS_AWAY_MS);
              await redis.restart();
            },
          );
      }
      await fleet.ready();
      isOver = true;
      await Promise.all(feeding);
      await settled();
      const results = await platform.stop(recorder.watched);
      for (const what of results.problems) expect(false, `results: ${what}`);
      for (const what of await usageProblems(volley)) expect(false, what);
      const { delivered, repeated, crashes, learned } = results;
      note(
        `${delivered} results delivered, ${repeated} of them again, after ${crashes} crashes of the reader`,
      );
      return { learned };
    },
  };
}

export const KILLS: readonly Attack[] = [kills('v1'), kills('v3')];
