/** What Redis and other processes have done. */
import { readFile } from 'node:fs/promises';
import { Redis } from 'ioredis';
import type { Redis as Connection } from '../src/base/redis/connection.js';

/** Work since the start of Redis and of the processes, or between two readings. */
export interface Cost {
  /** Commands run, including those within scripts. */
  readonly commands: number;
  /** CPU time of Redis and of the processes, ms. */
  readonly redisMs: number;
  readonly processMs: number;
}

/** Commands that read the figures; they are not counted. */
const OWN = new Set(['info', 'hello', 'auth', 'client|setname', 'client|setinfo', 'cluster|slots', 'ping']);
const KERNEL_TICKS_PER_MS = 0.1;

/** Reads the work of one Redis. */
export function meter(url: string) {
  const redis = new Redis(url);
  return {
    /** `pids`: the processes whose CPU time is added up. */
    async read(pids: readonly number[] = []): Promise<Cost> {
      const info = await redis.info('everything');
      const commands = Array.from(info.matchAll(/^cmdstat_(\S+?):calls=(\d+)/gm)).flatMap(
        ([, name = '', calls]) => (OWN.has(name) ? [] : [Number(calls)]),
      );
      return {
        commands: sum(commands),
        redisMs: 1_000 * (fieldOf(info, 'used_cpu_user') + fieldOf(info, 'used_cpu_sys')),
        processMs: sum(await Promise.all(pids.map(processorMs))),
      };
    },
    close: (): void => redis.disconnect(),
  };
}

/** The work between two readings. */
export function costBetween(before: Cost, after: Cost): Cost {
  return {
    commands: after.commands - before.commands,
    redisMs: after.redisMs - before.redisMs,
    processMs: after.processMs - before.processMs,
  };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function fieldOf(info: string, name: string): number {
  return Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(info)?.[1] ?? Number.NaN);
}

/** CPU time from /proc, in ticks of 10 ms. The process name before the fields may contain spaces. */
async function processorMs(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) / KERNEL_TICKS_PER_MS;
}

/** The memory of Redis without the buffers of its clients and of its file. */
export async function usedMemory(redis: Connection): Promise<number> {
  const stats = await redis.call('MEMORY', 'STATS');
  if (!Array.isArray(stats)) throw new TypeError('Redis returned no memory statistics');
  const at = (name: string): number => Number(stats[stats.indexOf(name) + 1]);
  return at('total.allocated') - at('clients.normal') - at('aof.buffer');
}
