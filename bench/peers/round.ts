/** One round: all contestants run at the same time, each with its own key and its own Redis, until all are done. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { connect, type Redis } from '../../src/base/redis/connection.js';
import { startPrivateRedis } from '../../src/base/redis/private-server.js';
import { bytesOfKeys, commandsRun, difference } from '../send/redis-figures.js';
import type { Contestant } from './contestants.js';
import type { Order } from './order.js';
import { type Figures, figuresOf, type ServiceLogs } from './record.js';
import { numbers, type Scenario } from './scenario.js';
import { startService } from './service-process.js';
import { startTeam } from './team.js';
import type { Sighting } from './witness.js';

/** The result of a contestant in a round. */
export interface Result extends Figures {
  readonly logs: ServiceLogs;
  /** Whether it finished, rather than being aborted. */
  readonly isDone: boolean;
  /** Redis figures per recipient: bytes before the first worker ran, commands sent, and commands run; NaN without Redis. */
  readonly bytesPending: number;
  readonly commandsSent: number;
  readonly commandsRun: number;
  /** Recipients that the contestant reports as unknown: the only figure that does not come from the simulator. */
  readonly unknown: number;
  /** ms from the first request; NaN without a kill. */
  readonly killedAfterMs: number;
}

/** A worker is killed once it has this many sends in flight, or once three quarters of the list have been accepted. */
const BUSY = 4;
const TICK_MS = 100;

/** Starts the contestants in this order. Resolves with the results by name. */
export async function runRound(
  contestants: readonly Contestant[],
  scenario: Scenario,
  folder: string,
  say: (line: string) => void,
): Promise<Map<string, Result>> {
  const watches = new Map(contestants.map(({ name }) => [name, createWatch(scenario)]));
  const seen = (sighting: Sighting): void => watches.get(sighting.key)?.see(sighting);
  const service = await startService(scenario, [...watches.keys()], seen);
  const closing: (() => Promise<unknown>)[] = [() => service.stop()];
  try {
    const entries = [];
    for (const contestant of contestants) entries.push(await prepare(contestant));
    await beginOfWindow(scenario.windowMs);
    const running = entries.map((entry) => {
      const watch = watches.get(entry.contestant.name);
      if (watch === undefined) throw new Error('this contestant is not watched');
      const team = startTeam(entry.contestant, entry.order);
      closing.unshift(() => team.stop());
      watch.onKill((worker) => team.kill(worker));
      return { ...entry, watch, team };
    });
    const ends = running.map(async ({ contestant, watch, team, redis, before, prepared, bytes }) => {
      const isDone = await watch.done(prepared.isWaiting);
      const run = redis && difference(before, await commandsRun(redis));
      const sent = redis ? await team.commandsSent() : Number.NaN;
      const unknown = await prepared.unknown();
      await team.stop();
      for (const line of team.complaints) say(line.trim());
      const commands = run ? [...run.values()].reduce((sum, calls) => sum + calls, 0) : Number.NaN;
      return {
        name: contestant.name,
        isDone,
        bytesPending: bytes / scenario.recipients,
        commandsSent: sent / scenario.recipients,
        commandsRun: commands / scenario.recipients,
        unknown,
        killedAt: watch.killedAt(),
      };
    });
    const parts = await Promise.all(ends);
    const logs = await service.logs(parts.map(({ name }) => name));
    return new Map(
      parts.map(({ name, killedAt, ...part }) => {
        const own = logs.get(name) ?? { arrivals: [], ledger: [] };
        const killedAfterMs = killedAt - (own.arrivals[0]?.at ?? Number.NaN);
        if (own.arrivals.length === 0) throw new Error(`${name} made no request`);
        const figures = figuresOf(numbers(scenario.recipients), own, scenario);
        return [name, { ...part, ...figures, logs: own, killedAfterMs }];
      }),
    );
  } finally {
    for (const close of closing) await close();
  }

  async function prepare(contestant: Contestant) {
    const own = join(folder, contestant.name);
    await mkdir(own, { recursive: true });
    const { redis, url } = await openRedis(contestant.appendfsync, own);
    const { quota, windowMs, workers, inFlight, pollMs } = scenario;
    const order: Order = {
      baseUrl: service.baseUrl,
      apiKey: contestant.name,
      redisUrl: url,
      listFile: join(own, 'list.txt'),
      worker: 0,
      ...{ quota, windowMs, workers, inFlight, pollMs },
    };
    const before = redis ? await commandsRun(redis) : new Map<string, number>();
    const prepared = await contestant.prepare(order, numbers(scenario.recipients), redis);
    closing.unshift(() => prepared.close());
    const bytes = redis ? await bytesOfKeys(redis) : Number.NaN;
    return { contestant, order, redis, before, prepared, bytes };
  }

  async function openRedis(
    appendfsync: Contestant['appendfsync'],
    dir: string,
  ): Promise<{ redis: Redis | undefined; url: string }> {
    if (appendfsync === null) return { redis: undefined, url: '' };
    const server = await startPrivateRedis({ dir: join(dir, 'redis'), appendfsync });
    const redis = connect(server.url);
    closing.unshift(async () => {
      redis.disconnect();
      await server.stop();
    });
    return { redis, url: server.url };
  }
}

/** With a service that counts by the clock, all start at the beginning of the same window. */
async function beginOfWindow(windowMs: number): Promise<void> {
  await delay(windowMs - (Date.now() % windowMs) + TICK_MS);
}

/** Follows a contestant through the simulator's messages: triggers the kill and notices when it is done. */
function createWatch({ kill, recipients, windowMs, silenceMs, patienceMs }: Scenario) {
  let [accepted, finals, lastAt, killedAt] = [0, 0, 0, Number.NaN];
  let killWorker = (_worker: number): void => {};
  const isTime = (sending: number): boolean =>
    accepted >= recipients / 2 && (sending >= BUSY || accepted >= (3 * recipients) / 4);
  return {
    onKill(callback: (worker: number) => void) {
      killWorker = callback;
    },
    see({ what, worker, sending }: Sighting) {
      lastAt = Date.now();
      if (what === 'accepted') accepted += 1;
      if (what === 'final') finals += 1;
      if (what !== 'accepted' || !kill || !Number.isNaN(killedAt) || !isTime(sending)) return;
      killedAt = Date.now();
      killWorker(worker);
    },
    killedAt: () => killedAt,
    /** Whether it finished in time. After a kill, some final statuses may be returned twice, so their number is not enough. */
    async done(isWaiting: () => Promise<boolean>): Promise<boolean> {
      const began = Date.now();
      const quietMs = kill ? windowMs * 1.5 : windowMs / 3;
      for (;;) {
        // A busy machine may be slow to start a worker.
        const silence = lastAt === 0 ? 0 : Date.now() - lastAt;
        if (silence > silenceMs || (silence > quietMs && (finals >= recipients || (await isWaiting())))) {
          return true;
        }
        if (Date.now() - began > patienceMs) return finals >= recipients;
        await delay(TICK_MS);
      }
    },
  };
}
