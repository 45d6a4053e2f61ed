import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import {
  type Config,
  type Environment,
  isLoopback,
  loadConfig,
  type SimulatorAddress,
} from '../config/index.js';
import type { SimulatorOptions } from '../simulator/index.js';

const FILE = 'simulator.json';

const shape = z.object({
  messagingBaseUrl: z.string(),
  accountBaseUrl: z.string(),
  pid: z.number(),
  redisPid: z.number(),
});

/** The simulator of a running `volley up --simulator`, as the other commands find it beside its Redis. */
export type RunningSimulator = z.output<typeof shape>;

/** Tells the other commands of a simulator, beside its Redis. */
export async function writeSimulatorFile(dir: string, running: RunningSimulator): Promise<void> {
  await writeFile(join(dir, FILE), `${JSON.stringify(running)}\n`, { mode: 0o600 });
}

/** Takes that away again; nothing happens where there is none. */
export async function removeSimulatorFile(dir: string): Promise<void> {
  await rm(join(dir, FILE), { force: true });
}

/**
 * The simulator that runs beside this Redis. The file is believed only if it names the very process of that Redis,
 * which ends with its `volley up`: what a killed one left behind misleads nobody.
 */
export async function readSimulatorFile(redis: {
  dir: string;
  pid: number;
}): Promise<RunningSimulator | undefined> {
  const text = await readFile(join(redis.dir, FILE), 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  const read = shape.safeParse(parsed(text));
  return read.success && read.data.redisPid === redis.pid ? read.data : undefined;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Campaigns of the simulator lie apart from real ones, so that neither can ever be sent by the other's workers. */
export function simulatorPrefix(prefix: string): string {
  return `${prefix}-simulator`;
}

/**
 * The configuration with the simulator in place of the service. Lanes and quotas are the user's own; the credentials
 * are made up, because real ones have no business there.
 */
export function simulatedConfig(env: Environment, address: SimulatorAddress, redisUrl: string): Config {
  const { callback, ...config } = loadConfig(env, { simulator: address });
  return {
    ...config,
    // A public address leads to where real notifications are taken.
    callback: callback !== undefined && isLoopback(callback.url) ? callback : undefined,
    redisUrl,
    redisPrefix: simulatorPrefix(config.redisPrefix),
    lanes: config.lanes.map((lane) => ({
      ...lane,
      credentials:
        lane.credentials.kind === 'apiKey'
          ? { kind: 'apiKey', apiKey: `simulator-${lane.name}` }
          : { kind: 'account', username: `simulator-${lane.name}`, password: 'simulator' },
    })),
  };
}

/** What makes a simulator know the lanes of such a configuration; a lane on `auto` meets no quota. */
export function simulatorLanes({ lanes, quotaWindowMs }: Config): SimulatorOptions {
  const quotaOf = (quota: number | 'auto') => ({
    quota: quota === 'auto' ? null : quota,
    windowMs: quotaWindowMs,
  });
  return {
    keys: lanes.map(({ credentials, hourlyQuota }) =>
      credentials.kind === 'apiKey'
        ? { key: credentials.apiKey, ...quotaOf(hourlyQuota) }
        : { account: credentials.username, ...quotaOf(hourlyQuota) },
    ),
    accounts: lanes.flatMap(({ credentials }) =>
      credentials.kind === 'account'
        ? [{ username: credentials.username, password: credentials.password }]
        : [],
    ),
  };
}
