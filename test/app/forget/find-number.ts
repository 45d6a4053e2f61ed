import type { Redis } from '../../../src/base/redis/connection.js';
import { keysOf } from '../../../src/base/redis/keys-with-prefix.js';
import { unpackSlice } from '../../../src/engine/recipients/slice-blob.js';

/*
 * Finds a person in Redis, whatever the form: in texts, in packed numbers, and in slices.
 */

/** A person: the number with its plus, and texts that belong to it, such as a name and a reference. */
export interface Person {
  readonly number: string;
  readonly texts: readonly string[];
}

/** The bytes of a value as they are, and in every form in which code packs it. */
function formsOf(value: Buffer): string[] {
  const forms = [value.toString('latin1'), value.toString('utf8')];
  const add = (read: () => unknown): void => {
    try {
      forms.push(JSON.stringify(read()));
    } catch {
      // It is not of this form.
    }
  };
  add(() => unpackSlice(value));
  if (value.length === 8) add(() => value.readDoubleBE());
  return forms;
}

async function valuesOf(redis: Redis, key: string): Promise<Buffer[]> {
  switch (await redis.type(key)) {
    case 'string':
      return [(await redis.getBuffer(key)) ?? Buffer.alloc(0)];
    case 'hash':
      return Object.values(await redis.hgetallBuffer(key)).concat(await redis.hkeysBuffer(key));
    case 'list':
      return redis.lrangeBuffer(key, 0, -1);
    case 'zset':
      return redis.zrangeBuffer(key, '0', '-1');
    case 'set':
      return redis.smembersBuffer(key);
    case 'stream': {
      const entries = await redis.xrange(key, '-', '+');
      return entries.flatMap(([, fields]) => fields.map((field) => Buffer.from(field)));
    }
    case 'none':
      // It has expired meanwhile.
      return [];
    default:
      throw new TypeError(`a key of an unknown type: ${key}`);
  }
}

/** The keys that contain the person, without the prefix, and with what they contain. */
export async function keysWith(redis: Redis, prefix: string, { number, texts }: Person): Promise<string[]> {
  const tail = number.slice(-8);
  const found: string[] = [];
  for (const key of await keysOf(redis, prefix)) {
    const values = [Buffer.from(key), ...(await valuesOf(redis, key))];
    const forms = values.flatMap(formsOf);
    const has = forms.some(
      (form) => form.replace(/[ ()./-]/g, '').includes(tail) || texts.some((text) => form.includes(text)),
    );
    if (has) found.push(key.replace(`{${prefix}:`, '{').replace(`${prefix}:`, ''));
  }
  return found.sort();
}
