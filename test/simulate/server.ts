import type { Command } from 'ioredis';
import type { Keys } from '../../src/redis/keys.js';
import { type LaneState, laneStateReader } from './lane-state.js';
import type { Scripts } from './scripts.js';
import type { Wire, Words } from './wire.js';

/** Where a world's time begins on every wall, ms since the epoch. */
export const START = 1_800_000_000_000;

/** What a command came to on the server. */
export type Reply = { readonly value: unknown } | { readonly error: Error };

export interface ServerOptions {
  readonly wire: Wire;
  readonly scripts: Scripts;
  readonly keys: Keys;
  readonly lanes: readonly string[];
  /** ms of virtual time. */
  now(): number;
  /** A lane as it stands after a command that may have changed it. */
  observed(lane: string, state: LaneState, by: string): void;
}

/** Scripts that change nothing that an invariant looks at. */
const ONLY_LOOK = new Set(['lane-status', 'confirm-claim']);

/** The Redis of one world: a corner of the real one, with a clock, a run id and losses of its own. */
export class Server {
  /** Names the server; another one has taken over when it changes. */
  run = 1;
  /** How far its clock is off, ms; set back by a fault. */
  skew = 0;
  readonly #options: ServerOptions;
  readonly #touched = new Set<string>();
  readonly #lanes: { name: string; mark: string; read: (seen: string) => LaneState }[];
  readonly #expiry: string;
  #backup: { keys: string[]; dumps: readonly (Buffer | null)[] } | undefined;

  constructor(options: ServerOptions) {
    this.#options = options;
    const { keys, lanes } = options;
    this.#expiry = keys.lane('simulation', 'expiry');
    this.#lanes = lanes.map((name) => ({
      name,
      mark: keys.lane(name, ''),
      read: laneStateReader(),
    }));
  }

  /** The server's time, ms since the epoch. */
  get time(): number {
    return START + this.#options.now() + this.skew;
  }

  /** Runs a command as the code gave it, and looks at the lane that it may have changed. Rejects with what the checker throws. */
  async execute(command: Command): Promise<Reply> {
    const { wire } = this.#options;
    const { name, args } = command;
    const [lane, words, label, verb] = this.#prepared(name, args);
    // What the checker throws is no reply: it must reach the world, and not the code, which would ask again.
    const reply = await wire.ask(verb, words, null).then(
      (answer): Reply => ({ value: answer }),
      (error: unknown): Reply => ({ error: error instanceof Error ? error : new Error(String(error)) }),
    );
    if (verb !== 'evalsha' || 'error' in reply) {
      // A script that breaks off may have written before.
      if (lane !== undefined) await this.look(lane.name, label);
      return 'value' in reply && name === 'hgetall' ? { value: byField(reply.value) } : reply;
    }
    if (!Array.isArray(reply.value))
      throw new TypeError(`${label} did not answer as a simulated script does`);
    const [seen, value = null] = reply.value;
    const text = String(seen);
    if (lane !== undefined && text !== '') this.#options.observed(lane.name, lane.read(text), label);
    return { value };
  }

  /** What is stored now is what the server will remember. */
  async remember(): Promise<void> {
    const keys = [...this.#touched];
    const { wire, scripts } = this.#options;
    const dumps = await wire.ask('evalsha', [scripts.dump, keys.length, ...keys], null);
    if (!Array.isArray(dumps)) throw new TypeError('no dumps');
    this.#backup = { keys, dumps };
  }

  /** Everything since it last remembered is lost. */
  async forget(): Promise<void> {
    if (this.#backup === undefined) return;
    const { wire, scripts } = this.#options;
    const { keys, dumps } = this.#backup;
    const later = [...this.#touched].filter((key) => !keys.includes(key));
    const payloads = [...dumps.map((dump) => dump ?? ''), ...later.map(() => '')];
    const all = [...keys, ...later];
    await wire.ask('evalsha', [scripts.restore, all.length, ...all, ...payloads], null);
    for (const { name } of this.#lanes) await this.look(name, 'forgotten');
  }

  async look(lane: string, label: string): Promise<void> {
    const known = this.#lanes.find(({ name }) => name === lane);
    if (known === undefined) return;
    const { wire, scripts } = this.#options;
    const seen = await wire.ask('evalsha', [scripts.look, 0, known.mark], 'utf8');
    this.#options.observed(lane, known.read(String(seen)), label);
  }

  /** The keys that are there, of all that were ever touched. */
  async left(): Promise<string[]> {
    const found: string[] = [];
    const { wire } = this.#options;
    for (const key of this.#touched) {
      // What has a life goes by itself.
      const life = await wire.ask('hget', [this.#expiry, key], null);
      if (life === null && (await wire.ask('exists', [key], null)) === 1) found.push(key);
    }
    return found;
  }

  async clear(): Promise<void> {
    await this.#options.wire.ask('unlink', [...this.#touched, this.#expiry], null);
  }

  #prepared(name: string, args: Command['args']) {
    const words: (string | number | Buffer)[] = args.map((arg) =>
      typeof arg === 'string' || typeof arg === 'number' || Buffer.isBuffer(arg) ? arg : String(arg),
    );
    if (name !== 'evalsha') {
      const key = String(words[0]);
      this.#touched.add(key);
      if (name === 'unlink' || name === 'del') for (const word of words) this.#touched.add(String(word));
      const changes = name === 'hdel' || name === 'zrem' || name === 'zadd' || name === 'unlink';
      return [changes ? this.#laneOf(key) : undefined, words, name, name] as const;
    }
    const script = this.#options.scripts.byHash.get(String(words[0]));
    if (script === undefined) throw new Error(`no such script: ${String(words[0])}`);
    const count = Number(words[1]);
    const keys = words.slice(2, 2 + count).map(String);
    for (const key of keys) this.#touched.add(key);
    words[0] = script.hash;
    words.push(this.time, this.run.toString(16).padStart(40, '0'));
    if (script.expires) words.push(this.#expiry);
    const lane = ONLY_LOOK.has(script.name) ? undefined : this.#laneOf(keys[0] ?? '');
    words.push(lane?.mark ?? '');
    return [lane, words, script.name, 'evalsha'] as const;
  }

  #laneOf(key: string) {
    return this.#lanes.find(({ mark }) => key.startsWith(mark));
  }
}

/** A hash as the server gives it, in an order that does not depend on the server. */
function byField(answer: unknown): unknown {
  if (!Array.isArray(answer)) return answer;
  const pairs = Array.from({ length: answer.length / 2 }, (_, at) => [answer[2 * at], answer[2 * at + 1]]);
  return pairs.sort(([one], [other]) => (String(one) < String(other) ? -1 : 1)).flat();
}

/** What a command is called in a trace. */
export function nameOf(command: Command, scripts: Scripts): string {
  return command.name === 'evalsha'
    ? (scripts.byHash.get(String(command.args[0]))?.name ?? '?')
    : command.name;
}

export type { Words };
