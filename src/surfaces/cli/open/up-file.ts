import { randomBytes } from 'node:crypto';
import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { jsonOrUndefined } from '../../../base/json.js';

/*
 * Where the messages of a running `volley up` go. Its Redis alone does not say: a simulator and a real account share the folder, the
 * address, and the password. So `volley up` writes this file before its Redis opens its port, and deletes it after that Redis has
 * ended. A Redis that answers therefore has a file, and commands read it before they choose where to store a campaign.
 *
 * The process id of the Redis server is part of the name. Two starts at the same moment write two files, and the Redis that gets the
 * port decides which one counts. A file that a killed process left behind counts for nothing, because a server that later gets the
 * same process id has its file written first.
 */

const NAME = /^up-(\d+)\.json$/;

const simulator = z.object({
  messagingBaseUrl: z.string(),
  accountBaseUrl: z.string(),
  v3: z.object({ messagingBaseUrl: z.string(), tokenUrl: z.string() }),
  /** The requests per hour of each lane; undefined: as the settings say. */
  quota: z.number().optional(),
});

/** The process of `volley up`. */
const pid = z.number();

const shape = z.union([
  z.object({ state: z.literal('starting'), mode: z.enum(['service', 'simulator']), pid }),
  z.object({ state: z.literal('running'), mode: z.literal('service'), pid }),
  z.object({ state: z.literal('running'), mode: z.literal('simulator'), pid, simulator }),
]);

/** A `volley up`, as its file describes it. */
export type Up = z.output<typeof shape>;

/** The addresses of a running simulator, and its quota. */
export type RunningSimulator = z.output<typeof simulator>;

/** The Redis of a `volley up`: the folder of its data, and its process id. */
interface RedisOfUp {
  readonly dir: string;
  readonly pid: number;
}

const fileOf = ({ dir, pid }: RedisOfUp): string => join(dir, `up-${pid}.json`);

/** Writes or replaces the file, in one step, so that no reader sees half of it. */
export async function publishUp(redis: RedisOfUp, up: Up): Promise<void> {
  const file = fileOf(redis);
  const draft = `${file}.${randomBytes(4).toString('hex')}`;
  await writeFile(draft, `${JSON.stringify(up)}\n`, { mode: 0o600 });
  await rename(draft, file);
}

/** Deletes the file, if there is one. Only once that Redis has ended. */
export async function removeUp(redis: RedisOfUp): Promise<void> {
  await rm(fileOf(redis), { force: true });
}

/** What the file of this Redis says; undefined if there is none, or if it is damaged. */
export async function readUp(redis: RedisOfUp): Promise<Up | undefined> {
  const text = await readFile(fileOf(redis), 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  const parsed = shape.safeParse(jsonOrUndefined(text));
  return parsed.success ? parsed.data : undefined;
}

/** A `volley up` of this folder that is starting, and whose Redis need not answer yet. */
export async function findStartingUp(dir: string): Promise<Up | undefined> {
  for (const redis of await published(dir)) {
    const up = await readUp(redis);
    if (up?.state === 'starting' && isAlive(up.pid)) return up;
  }
  return undefined;
}

/** Deletes the files that killed processes left behind. */
export async function removeUpsOfDead(dir: string): Promise<void> {
  for (const redis of await published(dir)) {
    const up = await readUp(redis);
    if (up === undefined || !isAlive(up.pid)) await removeUp(redis);
  }
}

async function published(dir: string): Promise<RedisOfUp[]> {
  const names = await readdir(dir).catch(() => []);
  return names.flatMap((name) => {
    const pid = NAME.exec(name)?.[1];
    return pid === undefined ? [] : [{ dir, pid: Number(pid) }];
  });
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    // The folder belongs to this user, so the process would too.
    return false;
  }
}
