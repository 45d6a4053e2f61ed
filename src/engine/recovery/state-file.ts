import { randomUUID } from 'node:crypto';
import { open, readFile, rename } from 'node:fs/promises';
import { z } from 'zod';
import { readProblem, systemCode } from '../../base/config/index.js';
import { jsonOrUndefined } from '../../base/json.js';
import { InputError } from '../../campaign/errors/errors.js';

/** What a worker remembers of the data in Redis, outside of Redis. */
export interface RememberedData {
  /** The id of the data; undefined before a worker has seen any. */
  readonly data: string | undefined;
  /** The ids of the data that Redis had before, the latest first. */
  readonly before: readonly string[];
  /** By the lane's id: the highest claim that no crash and no failover can have lost. */
  readonly claims: ReadonlyMap<string, number>;
}

const shape = z.object({
  data: z.string().optional(),
  before: z.array(z.string()),
  claims: z.record(z.string(), z.number().int()),
});

/**
 * Reads STATE_FILE. A file that is missing or empty is that of a first start. Throws an InputError for one that cannot be read or written, or
 * that something else wrote: without it, the worker would not notice a restored backup.
 */
export async function readStateFile(file: string): Promise<RememberedData> {
  const state = await storedState(file);
  await writeStateFile(file, state).catch((error: unknown) => {
    throw new InputError(
      `STATE_FILE cannot be written: ${String(error)}; name a file that workers can write`,
    );
  });
  return state;
}

/** What the file contains. Throws an InputError if it cannot be read, or if something else wrote it. */
export async function storedState(file: string): Promise<RememberedData> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    if (systemCode(error) === 'ENOENT') return '';
    throw new InputError(`STATE_FILE cannot be read. ${readProblem(error, file) ?? String(error)}`);
  });
  const remembered =
    text.trim() === '' ? { before: [], claims: {} } : shape.safeParse(jsonOrUndefined(text)).data;
  if (remembered === undefined)
    throw new InputError(
      `STATE_FILE ${file} does not contain what Volley writes; name another file, or delete it and run \`volley doctor --restored\``,
    );
  return {
    data: remembered.data,
    before: remembered.before,
    claims: new Map(Object.entries(remembered.claims)),
  };
}

/** Workers that share a file do not share the one that replaces it. */
const OWN = randomUUID().slice(0, 8);

/** Replaces STATE_FILE in one step, so that a crash leaves the old file or the new one. */
export async function writeStateFile(file: string, { data, before, claims }: RememberedData): Promise<void> {
  const next = `${file}.${OWN}`;
  const handle = await open(next, 'w');
  try {
    await handle.writeFile(`${JSON.stringify({ data, before, claims: Object.fromEntries(claims) })}\n`);
    await handle.datasync();
  } finally {
    await handle.close();
  }
  await rename(next, file);
}
