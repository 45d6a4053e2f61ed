import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import type { Redis } from './connection.js';

/** A value that a script takes as an argument; numbers are sent in decimal. */
export type ScriptArgument = string | number | Buffer;

/** Keys or arguments by the names in the script's header. */
type Named<Value> = Readonly<Record<string, Value>>;

/**
 * A Lua script that runs on the server, loaded once by its hash.
 * `parse` turns the raw reply into the script's typed answer; it throws on a reply that does not fit.
 */
interface Script<Answer> {
  /** The names of its keys and arguments, in the order of its header. */
  readonly header: ScriptHeader;
  /** `time` may be left out. `entryKeys` and `entryArgs` follow the named ones, where the header has a group `KEYS+` or `ARGV+`. */
  run(
    redis: Redis,
    keys: Named<string>,
    args: Named<ScriptArgument>,
    entryKeys?: readonly string[],
    entryArgs?: readonly ScriptArgument[],
  ): Promise<Answer>;
}

/** What a script's header declares. The header is the only place that defines the order of keys and arguments. */
interface ScriptHeader {
  readonly keys: readonly string[];
  readonly args: readonly { readonly name: string; readonly type: 'text' | 'number' | 'json' }[];
  /** Whether a group of further keys follows. */
  readonly entryKeys: boolean;
  /** Whether a group of further arguments follows. */
  readonly entryArgs: boolean;
}

const INCLUDE = /^-- @include (\S+)$/gm;
const PASSES_KEYS = /\(keys[,)]/;
const HEADER = /^--\[\[\n(.*?)\n\]\]\n/s;
const LANE_KEYS = /^ +LANE +((?:\w+,\s+)*\w+)$/m;

/**
 * Reads the header of a script:
 *
 *     LANE  lane, window
 *     KEYS  outbox  hash: settings of the outbox
 *     KEYS+ entries two per settlement
 *     ARGV  rules   JSON: the lane's rules
 *           want    number: batches at most
 *
 * `LANE` has the keys of a lane that keys.ts describes. The text after an argument's name begins with its type, `JSON:` or `number:`; without
 * one it is a text.
 */
export function readHeader(text: string): ScriptHeader {
  const header = HEADER.exec(text)?.[1] ?? '';
  const keys = LANE_KEYS.exec(header)?.[1]?.split(/,\s+/) ?? [];
  const args: ScriptHeader['args'][number][] = [];
  let entryKeys = false;
  let entryArgs = false;
  let section = '';
  let column = 0;
  for (const line of header.split('\n')) {
    const [, start = '', title = '', gap = '', name = '', about = ''] =
      /^(\s*)(KEYS\+|ARGV\+|KEYS|ARGV|Returns|)(\s+)(\w+)\s\s*(\S.*)$/.exec(line) ?? [];
    if (title !== '') column = start.length + title.length + gap.length;
    if (title !== '') section = title;
    else if (start.length + gap.length !== column) continue;
    if (section === 'KEYS') keys.push(name);
    if (title === 'KEYS+') entryKeys = true;
    if (title === 'ARGV+') entryArgs = true;
    if (section !== 'ARGV' || name === '') continue;
    args.push({
      name,
      type: about.startsWith('JSON:') ? 'json' : about.startsWith('number:') ? 'number' : 'text',
    });
  }
  return { keys, args, entryKeys, entryArgs };
}

const READ = {
  text: (value: string) => value,
  number: (value: string) => `tonumber(${value})`,
  json: (value: string) => `cjson.decode(${value})`,
};

/**
 * The locals that a script's header promises: `laneKey` for the key `lane`, `want` for the argument `want`. A script that passes all of
 * its keys on has them in the table `keys` as well, by their names.
 */
function localsOf({ keys, args, entryKeys, entryArgs }: ScriptHeader, passesKeys: boolean): string {
  return [
    ...keys.map((name, at) => `local ${name}Key = KEYS[${at + 1}]\n`),
    passesKeys && keys.length > 0
      ? `local keys = { ${keys.map((name) => `${name} = ${name}Key`).join(', ')} }\n`
      : '',
    ...args.map(({ name, type }, at) => `local ${name} = ${READ[type](`ARGV[${at + 1}]`)}\n`),
    entryKeys ? `local function entry_key(at) return KEYS[${keys.length} + at] end\n` : '',
    entryArgs ? `local function entry_arg(at) return ARGV[${args.length} + at] end\n` : '',
    entryArgs ? `local function entry_args() return #ARGV - ${args.length} end\n` : '',
  ].join('');
}

/**
 * A cluster runs a script only if all its keys lie in one slot, which keys with one hash tag do. This is checked on every
 * server, so that the first test that runs a script finds one that a cluster would refuse. Throws a TypeError.
 */
function mustShareSlot(script: string, keys: readonly string[]): void {
  const [first = ''] = keys;
  const tag = hashTag(first);
  // Most keys begin with their tag, and comparing the beginning is faster.
  const start = first.startsWith(`{${tag}}`) ? `{${tag}}` : undefined;
  const isElsewhere = (key: string): boolean =>
    (start === undefined || !key.startsWith(start)) && hashTag(key) !== tag;
  const other = keys.find(isElsewhere);
  if (other === undefined) return;
  throw new TypeError(`${script}: its keys lie in different hash slots: ${first}, ${other}`);
}

/** The part of a key that decides its slot: the text between its first brace and the next closing one, or all of it. */
function hashTag(key: string): string {
  const open = key.indexOf('{');
  const close = key.indexOf('}', open + 1);
  return open === -1 || close <= open + 1 ? key : key.slice(open + 1, close);
}

/**
 * Reads a Lua file: its header becomes locals, and the text of each `-- @include ./other.lua` line takes the line's place,
 * each file once. A script may have at most 200 local variables: in a file that others include, prefer one table to many functions.
 */
export function readLua(url: URL, seen = new Set<string>()): string {
  seen.add(url.href);
  const text = readFileSync(url, 'utf8');
  return text
    .replace(HEADER, (header) => header + localsOf(readHeader(text), PASSES_KEYS.test(text)))
    .replace(INCLUDE, (_line, path: string) => {
      const included = new URL(path, url);
      return seen.has(included.href) ? '' : readLua(included, seen);
    });
}

/** Values in the order of the header. A missing or unknown name throws a TypeError. */
function inOrder<Value>(script: string, names: readonly string[], values: Named<Value>): readonly Value[] {
  const unknown = Object.keys(values).find((name) => !names.includes(name));
  if (unknown !== undefined) throw new TypeError(`${script}: its header does not declare ${unknown}`);
  return names.map((name) => {
    const value = values[name];
    if (value === undefined) throw new TypeError(`${script}: ${name} is missing`);
    return value;
  });
}

/**
 * Loads the Lua file beside the calling module: `loadScript(import.meta.url, './claim.lua', parse)`.
 * The script is sent by hash; only a server that does not know it yet receives the text. With `sendsText`, it is always sent as text,
 * so that it runs before what is sent after it: for short scripts.
 */
export function loadScript<Answer>(
  moduleUrl: string,
  path: string,
  parse: (reply: unknown) => Answer,
  { sendsText = false }: { readonly sendsText?: boolean } = {},
): Script<Answer> {
  const url = new URL(path, moduleUrl);
  const source = sendsText ? withoutComments(readLua(url)) : readLua(url);
  const header = readHeader(readFileSync(url, 'utf8'));
  const argNames = header.args.map(({ name }) => name);
  const usual = argNames.includes('time') ? { time: '' } : {};
  const sha = createHash('sha1').update(source).digest('hex');
  return {
    header,
    async run(redis, keys, args, entryKeys = [], entryArgs = []) {
      const allKeys = [...inOrder(path, header.keys, keys), ...entryKeys];
      const named = inOrder(path, argNames, { ...usual, ...args }).map((value, at) =>
        header.args[at]?.type === 'json' ? luaJson(String(value)) : value,
      );
      const values = [...named, ...entryArgs];
      mustShareSlot(path, allKeys);
      if (sendsText) return parse(await redis.eval(source, allKeys.length, ...allKeys, ...values));
      try {
        return parse(await redis.evalsha(sha, allKeys.length, ...allKeys, ...values));
      } catch (error) {
        if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
        return parse(await redis.eval(source, allKeys.length, ...allKeys, ...values));
      }
    },
  };
}

/** Leaves out the headers of a script, and its lines of comments. */
const withoutComments = (source: string): string =>
  source.replaceAll(/^--\[\[\n.*?\n\]\]\n/gms, '').replaceAll(/^\s*--.*\n/gm, '');

/** JSON as Lua reads it: without half of a surrogate pair, which JSON.stringify writes as an escape, and at which a script fails. */
export const luaJson = (json: string): string =>
  json.replaceAll(/(?<!\\)((?:\\\\)*)\\ud[\da-f]{3}/g, '$1\ufffd');

/** A list as a script writes it: Lua has no empty list, and writes an empty object instead. */
export const luaList = <Item extends z.ZodType>(item: Item) =>
  z.union([z.array(item), z.object({}).transform((): z.output<Item>[] => [])]);
