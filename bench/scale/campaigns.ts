/** The cost of very many campaigns with one recipient each, as platforms create them, and of querying them. */
import { setTimeout as delay } from 'node:timers/promises';
import pLimit from 'p-limit';
import { type Cost, costBetween, residentBytes } from './cost.js';
import type { Setting } from './setting.js';
import { numbers } from './sizes.js';

export interface CampaignsFigures {
  readonly campaigns: number;
  readonly lanes: number;
  readonly atATime: number;
  readonly enqueueS: number;
  /** The cost of enqueuing alone, without workers. */
  readonly enqueue: Cost;
  /** The duration of queries while all campaigns wait, ms. */
  readonly asking: Readonly<Record<'status' | 'list of 50' | 'list of all' | 'find' | 'lanes', number>>;
  /** From the release of the lanes to the last acceptance, and to the end of the last campaign. */
  readonly acceptedS: number;
  readonly endedS: number;
  readonly send: Cost;
  /** The memory of the largest worker process at the end. */
  readonly residentBytes: number;
}

/** Enqueues the campaigns without workers, queries them, then starts the workers and waits until all campaigns have ended. */
export async function runCampaigns(
  setting: Setting,
  { campaigns, lanes, atATime, from }: { campaigns: number; lanes: number; atATime: number; from: number },
): Promise<CampaignsFigures> {
  const { fleet } = setting;
  const { volley } = fleet;
  const names = setting.laneNames.slice(0, lanes);
  await setting.endWorkers();
  const endedBefore = await setting.ended(names);
  const sentBefore = await setting.sent(names);

  const before = await setting.read();
  const began = performance.now();
  const limit = pLimit(atATime);
  const ids = await Promise.all(
    Array.from(numbers(campaigns, from), (recipient, at) =>
      limit(async () => {
        const lane = names[at % lanes] ?? '';
        const made = await volley.enqueue({
          lane,
          recipients: [recipient],
          message: 'Your table is booked for tonight.',
          sender: '12345',
        });
        if (made.outcome !== 'created') throw new Error(`a campaign was ${made.outcome}`);
        return made.id;
      }),
    ),
  );
  const enqueueS = (performance.now() - began) / 1000;
  const enqueue = costBetween(before, await setting.read());

  const [last] = [...numbers(1, from)];
  const asking = {
    status: await took(() => volley.status(ids[0] ?? '')),
    'list of 50': await took(() => volley.list()),
    'list of all': await took(() => volley.list({ limit: campaigns })),
    find: await took(async () => {
      let found = 0;
      for await (const _ of volley.find(last?.to ?? '')) found += 1;
      if (found === 0) throw new Error('a number was not found');
    }),
    lanes: await took(() => volley.lanes()),
  };

  // The workers start before the measurement; the lanes are held until then.
  await Promise.all(names.map((lane) => volley.holdLane(lane)));
  await setting.startWorkers();
  const beforeSending = await setting.read();
  const started = performance.now();
  await Promise.all(names.map((lane) => volley.resumeLane(lane)));
  let hget = names.length;
  while ((await setting.sent(names)) < sentBefore + campaigns) {
    hget += names.length;
    await delay(500);
  }
  const acceptedS = (performance.now() - started) / 1000;
  const zcard = await setting.untilEnded(names, endedBefore + campaigns);
  const endedS = (performance.now() - started) / 1000;
  const send = costBetween(beforeSending, await setting.read(), { zcard, hget });
  const pids = fleet.members.filter(({ program }) => program.isRunning).map(({ program }) => program.pid);
  const resident = Math.max(...(await Promise.all(pids.map(residentBytes))));
  return {
    campaigns,
    lanes,
    atATime,
    enqueueS,
    enqueue,
    asking,
    acceptedS,
    endedS,
    send,
    residentBytes: resident,
  };
}

async function took(run: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await run();
  return performance.now() - began;
}
