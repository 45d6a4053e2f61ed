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
      try {
        return parse(await redis.evalsha(sha, keys.length, ...keys, ...args));
      } catch (error) {
        if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
        return parse(await redis.eval(source, keys.length, ...keys, ...args));
      }
    },
  };
}
