import { join } from 'node:path';
import { REAL_TIME, type SpreadTime } from '../../src/app/runtime/instance.js';
import { openVolley } from '../../src/app/runtime/open-volley.js';
import type { Volley } from '../../src/app/volley.js';
import { loadConfig, loadLocalConfig } from '../../src/base/config/index.js';
import { createEvents, type VolleyEvent } from '../../src/base/events/events.js';
import { keyNames } from '../../src/base/redis/keys.js';
import type { Simulator, SimulatorDependencies, SimulatorOptions } from '../../src/tools/simulator/index.js';
import { keysOf, type TestRedis, testRedis } from '../base/redis/test-redis.js';
import type { ApiServer, ApiServerOptions } from './api.js';
import { closing, type Folder, startSimulator, temporaryFolder } from './closing.js';
import { type CommandLine, commandLine } from './command-line.js';
import { type StoredLane, storedLane } from './stored.js';

/** Environment variables. */
export type Settings = Readonly<Record<string, string>>;

export interface SceneOptions {
  /** A lanes file: the lanes, or the names of lanes with an API key each, `key-NAME`. Default: one lane, `default`. */
  readonly lanes?: readonly (string | object)[];
  /** The text of `list.csv`. */
  readonly list?: string;
  readonly settings?: Settings;
}

/**
 * What a test of the whole needs, made when it is first used: a part of Redis, a folder, lanes, a list, and the processes that work with
 * them. Everything ends with the test that opened it, or with the file. The methods may be taken apart.
 *
 * ```ts
 * const { call, key } = await scene('http-audit', { lanes: ['main', 'other'] }).api();
 * const { shell, list } = scene('cli-cost', { list: 'phone\n+447700900101\n', settings: { SENDER_ADDRESS: 'ACME' } });
 * ```
 */
export interface Scene extends TestRedis {
  /** Of a process of this scene: the address of Redis, the prefix, the lanes file, and the settings of the scene. */
  readonly settings: Settings;
  /** The path of a new folder. */
  readonly folder: string;
  /** The path of `list.csv`. */
  readonly list: string;
  /** Writes a file into the folder (see {@link Folder}). */
  readonly write: Folder['write'];
  /** Writes a lanes file, and returns its path. */
  lanesFile(lanes: NonNullable<SceneOptions['lanes']>): string;
  /** A simulator of its own, with the settings that lead to it. Default: with the API key `key`. */
  startSimulator(
    options?: SimulatorOptions,
    surroundings?: SimulatorDependencies,
  ): Promise<Simulator & { readonly settings: Settings }>;
  /**
   * A Volley that logs nothing, and can work if the settings have an address of the service. It adds its events to `seen`; `time` is that
   * in which changes of stored lanes spread.
   */
  open(settings?: Settings, options?: { seen?: VolleyEvent[]; time?: SpreadTime }): Volley;
  /** An HTTP API on a port of its own. */
  api(settings?: Settings, options?: ApiServerOptions): Promise<ApiServer>;
  /** A shell in the folder of the scene, or in another one. */
  shell(settings?: Settings, folder?: string): CommandLine;
  /** What Redis stores about a lane, and in which form. */
  stored(lane?: string, prefix?: string): StoredLane;
  /** The names of the keys that hold campaigns, messages, numbers, or tokens; with a pattern, of all keys that match. */
  storedKeys(pattern?: RegExp): Promise<string[]>;
}

/** Keys of what every process notes: lanes, queues, workers, keys of the API, the trail, and the format of the data. */
const BOOKKEEPING = /:(?:lanes|apiKeys|audit|positions|workers|due|removals|format|meta)\b/;

/** Sets a scene for the file that calls this at its top level. `name` is that of a prefix in Redis (see `testRedis`). */
export function scene(name: string, { lanes, list, settings: own = {} }: SceneOptions = {}): Scene {
  const server = testRedis(name);
  const { atEnd, later } = closing();
  let made: Folder | undefined;
  const folder = (): Folder => {
    made ??= temporaryFolder(atEnd);
    return made;
  };
  let lanesFiles = 0;
  const lanesFile: Scene['lanesFile'] = (all) => {
    lanesFiles += 1;
    return folder().write(
      `lanes-${lanesFiles}.json`,
      all.map((lane) => (typeof lane === 'string' ? { name: lane, apiKey: `key-${lane}` } : lane)),
    );
  };
  const settings: Settings = {
    REDIS_URL: server.url,
    REDIS_PREFIX: server.prefix,
    ...(lanes === undefined ? {} : { LANES_FILE: lanesFile(lanes) }),
    ...own,
  };
  const listPath = list === undefined ? undefined : folder().write('list.csv', list);
  return {
    ...server,
    settings,
    write: (path, content) => folder().write(path, content),
    lanesFile,
    get folder() {
      return folder().path;
    },
    get list() {
      return listPath ?? join(folder().path, 'list.csv');
    },
    async startSimulator(options, surroundings) {
      const started = await startSimulator(options, surroundings, later);
      const { messagingBaseUrl, accountBaseUrl } = started;
      const addresses = { MESSAGING_BASE_URL: messagingBaseUrl, ACCOUNT_BASE_URL: accountBaseUrl };
      return { ...started, settings: addresses };
    },
    open(more, { seen = [], time = REAL_TIME } = {}) {
      const environment = { ...settings, ...more };
      const load = environment['MESSAGING_BASE_URL'] ? loadConfig : loadLocalConfig;
      const events = createEvents({ level: 'silent' });
      events.onAny((event) => void seen.push(event));
      const volley = openVolley({ config: load(environment), events }, time);
      later(() => volley.close());
      return volley;
    },
    // Loaded when it is needed, because most tests of the engine need no server.
    api: async (more, options) =>
      (await import('./api.js')).serveApi({ ...settings, ...more }, later, options),
    shell: (more, cwd = folder().path) => commandLine(cwd, { ...settings, ...more }),
    stored: (lane = 'default', prefix = server.prefix) =>
      storedLane({ redis: server.redis, keys: keyNames(prefix), id: lane }),
    async storedKeys(pattern) {
      const all = await keysOf(server.redis, server.prefix);
      return all.filter((key) => (pattern === undefined ? !BOOKKEEPING.test(key) : pattern.test(key))).sort();
    },
  };
}
