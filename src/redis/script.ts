import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Redis } from './connection.js';

/** What a script takes as an argument; numbers are sent in decimal. */
export type ScriptArgument = string | number | Buffer;

/**
 * A Lua script that runs on the server, loaded once by its hash.
 * `parse` turns the raw reply into the script's typed answer; a reply that does not fit throws there.
 */
export interface Script<Answer> {
  readonly name: string;
  readonly source: string;
  run(redis: Redis, keys: readonly string[], args: readonly ScriptArgument[]): Promise<Answer>;
}

const INCLUDE = /^-- @include (\S+)$/gm;

/**
 * A cluster runs a script only if all its keys lie in one slot, which keys with one hash tag do. Said of every server, so
 * that a script that a cluster would refuse is found by whatever test runs it first. Throws a TypeError.
 */
function mustShareSlot(script: string, keys: readonly string[]): void {
  const [first = ''] = keys;
  const tag = hashTag(first);
  const other = keys.find((key) => hashTag(key) !== tag);
  if (other === undefined) return;
  throw new TypeError(`${script}: its keys lie in different hash slots: ${first}, ${other}`);
}

/** What decides a key's slot: what is between its first brace and the next closing one, or all of it. */
function hashTag(key: string): string {
  const open = key.indexOf('{');
  const close = key.indexOf('}', open + 1);
  return open === -1 || close <= open + 1 ? key : key.slice(open + 1, close);
}

/** Reads a Lua file and puts the text of each `-- @include ./other.lua` line in its place, each file once. */
export function readLua(url: URL, seen = new Set<string>()): string {
  seen.add(url.href);
  return readFileSync(url, 'utf8').replace(INCLUDE, (_line, path: string) => {
    const included = new URL(path, url);
    return seen.has(included.href) ? '' : readLua(included, seen);
  });
}

/**
 * Loads the Lua file beside the module that asks: `loadScript(import.meta.url, './claim.lua', parse)`.
 * The script is sent by hash; only a server that does not know it yet is sent the text.
 */
export function loadScript<Answer>(
  moduleUrl: string,
  path: string,
  parse: (reply: unknown) => Answer,
): Script<Answer> {
  const source = readLua(new URL(path, moduleUrl));
  const sha = createHash('sha1').update(source).digest('hex');
  return {
    name: path.replace(/^.*\/|\.lua$/g, ''),
    source,
    async run(redis, keys, args) {
      mustShareSlot(path, keys);
      try {
        return parse(await redis.evalsha(sha, keys.length, ...keys, ...args));
      } catch (error) {
        if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
        return parse(await redis.eval(source, keys.length, ...keys, ...args));
      }
    },
  };
}
