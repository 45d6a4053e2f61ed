import { type ChildProcess, spawn } from 'node:child_process';
import { resolve } from 'node:path';
import type { Redis } from '../../../src/base/redis/connection.js';
import { keyNames } from '../../../src/base/redis/keys.js';
import { readMeta } from '../../../src/engine/store/campaign-meta.js';
import { listCampaigns, readState } from '../../../src/engine/store/campaigns.js';
import { scheduleStore } from '../../../src/intake/schedules/store.js';
import { storedDefinition } from '../../../src/intake/schedules/stored-schedule.js';
import { nextOccurrence } from '../../../src/intake/schedules/timetable.js';

/** Plain JavaScript, which is not compiled. */
const PROGRAM = resolve('test/intake/schedules/sweeper.mjs');

/** Where the schedules of a run are stored. */
export interface SchedulesAt {
  readonly redis: Redis;
  readonly url: string;
  readonly prefix: string;
}

/** Schedules that are due every minute, and processes that run them and may be killed. Their clocks run `speed` times as fast as the machine's. */
export function sweepers({ redis, url, prefix }: SchedulesAt, speed: number, recipients = 1) {
  const keys = keyNames(prefix);
  const startedAt = Date.now();
  const now = (): number => Math.floor(startedAt + (Date.now() - startedAt) * speed);
  const store = scheduleStore(redis, keys, now);
  const list = Array.from({ length: recipients }, (_, at) => ({ to: `+4477${10_000_000 + at}` }));
  return {
    store,
    start: (): ChildProcess =>
      spawn(process.execPath, [PROGRAM, url, prefix, String(startedAt), String(speed)], {
        stdio: ['ignore', 'ignore', 'inherit'],
      }),
    /** Adds a schedule. Returns its first occurrence, ms. */
    async add(id: string, message: string): Promise<number> {
      const definition = storedDefinition.parse({
        name: id,
        lane: 'default',
        cron: '* * * * *',
        zone: 'UTC',
        overlap: 'allow',
        catchUpMs: 7 * 86_400_000,
        source: { kind: 'inline', recipientCount: list.length },
        campaign: { message },
      });
      const createdBy = { kind: 'library', id: null, name: 'a test' } as const;
      const next = nextOccurrence(definition, now());
      await store.add(id, definition, list, { createdBy, next });
      return next;
    },
    /** The campaigns that were created. What was being imported when its process was killed is none. */
    async campaigns(): Promise<{ text: string; idempotencyKey: string; launchAt: number }[]> {
      const found = [];
      for await (const { id, lane } of listCampaigns(redis, keys)) {
        const meta = await readMeta(redis, keys, lane, id);
        const state = await readState(redis, keys, lane, id);
        if (state === null || state.state === 'importing' || meta === null) continue;
        const { text, idempotencyKey = '' } = meta;
        found.push({ text, idempotencyKey, launchAt: state.launchAt });
      }
      return found;
    },
  };
}

/** Whether a process runs. Throws if it has ended by itself. */
export function isRunning({ exitCode }: ChildProcess): boolean {
  if (exitCode !== null) throw new Error(`a process ended by itself, with code ${exitCode}`);
  return true;
}
