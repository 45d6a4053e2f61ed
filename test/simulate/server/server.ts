import type { Command } from 'ioredis';
import type { Keys } from '../../../src/base/redis/keys.js';
import { type LaneState, laneStateReader, OUTBOX_ID } from './lane-state.js';
import type { Scripts, WrappedScript } from './scripts.js';
import type { Wire } from './wire.js';

/** The wall-clock time at which every world begins, ms since the epoch. */
export const START = 1_800_000_000_000;

/** The reply to INFO memory: the server has no limit. */
const NO_LIMIT = '# Memory\r\nused_memory:1000000\r\nmaxmemory:0\r\n';

/** The server's reply to a command. */
export type Reply = { readonly value: unknown } | { readonly error: Error };

export interface ServerOptions {
  readonly wire: Wire;
  readonly scripts: Scripts;
  readonly keys: Keys;
  readonly lanes: readonly string[];
  /** ms of virtual time. */
  now(): number;
  /** Called with a lane's state after each command that may have changed it; `by` names the command. */
  observed(lane: string, state: LaneState, by: string): void;
  /** Called when a script has run, before `observed`. */
  ran(script: string): void;
  /** Called when a process has announced a loss of data. */
  announced(): void;
}

/** Scripts that change nothing that an invariant checks. */
const READ_ONLY_SCRIPTS = new Set(['lane-status', 'confirm-claim', 'read-results', 'recipient-range']);

/** The Redis of one world: a key prefix in the real Redis, with its own clock, run id, and data losses. */
export class Server {
  /** The number of the current server process; its run id is derived from it. */
  run = 1;
  /** The error of its clock, ms. */
  skew = 0;
  readonly #skews = [0];
  readonly #options: ServerOptions;
  readonly #touched = new Set<string>();
  readonly #lanes: { name: string; prefix: string; read: (seen: string) => LaneState }[];
  readonly #expiry: string;
  #backup: { keys: string[]; dumps: readonly (Buffer | null)[] } | undefined;

  constructor(options: ServerOptions) {
    this.#options = options;
    const { keys, lanes } = options;
    this.#expiry = keys.lane('simulation', 'expiry');
    this.#lanes = lanes.map((name) => ({
      name,
      prefix: keys.lane(name, ''),
      read: laneStateReader(),
    }));
  }

  /** The server's time, ms since the epoch. */
  get time(): number {
    return START + this.#options.now() + this.skew;
  }

  /** Sets the clock forward, or back. */
  setClock(byMs: number): void {
    this.skew += byMs;
    this.#skews.push(this.skew);
  }

  /** The difference between the times furthest ahead and furthest behind. */
  get clockRangeMs(): number {
    return Math.max(...this.#skews) - Math.min(...this.#skews);
  }

  /** Runs a command, then reports the lane that it may have changed. Rejects with a Violation that the checker throws. */
  async execute(command: Command): Promise<Reply> {
    const { wire } = this.#options;
    const { name } = command;
    // The real server is shared by all worlds, so what it uses is not the same twice.
    if (name === 'info') return { value: NO_LIMIT };
    if (name === 'time')
      return { value: [`${Math.floor(this.time / 1_000)}`, `${(this.time % 1_000) * 1_000}`] };
    const [lane, args, label, verb] = this.#prepared(name, command.args);
    // A Violation is not a reply: it must reach the world, not the code under test, which would retry.
    const reply = await wire.send(verb, args, null).then(
      (answer): Reply => ({ value: answer }),
      (error: unknown): Reply => ({ error: error instanceof Error ? error : new Error(String(error)) }),
    );
    if (name === 'zadd' && String(args[0]) === this.#options.keys.losses) this.#options.announced();
    if (verb !== 'evalsha' || 'error' in reply) {
      // A script that fails may have written before.
      if (lane !== undefined) await this.readLane(lane.name, label);
      return 'value' in reply ? { value: ordered(name, reply.value) } : reply;
    }
    if (!Array.isArray(reply.value)) throw new TypeError(`${label} did not reply as a wrapped script does`);
    const [seen, value = null] = reply.value;
    const text = String(seen);
    const state = lane === undefined || text === '' ? undefined : lane.read(text);
    this.#options.ran(label);
    if (lane !== undefined && state !== undefined) {
      this.#touchOutbox(lane.prefix, state);
      this.#options.observed(lane.name, state, label);
    }
    return { value };
  }

  /** Saves the current data: a later loss goes back to this point. */
  async save(): Promise<void> {
    const keys = [...this.#touched];
    const { wire, scripts } = this.#options;
    const dumps = await wire.send('evalsha', [scripts.dump, keys.length, ...keys], null);
    if (!Array.isArray(dumps)) throw new TypeError('no dumps');
    this.#backup = { keys, dumps };
  }

  /** Loses everything written since the last `save`. */
  async loseUnsaved(): Promise<void> {
    if (this.#backup === undefined) return;
    const { wire, scripts } = this.#options;
    const { keys, dumps } = this.#backup;
    const later = [...this.#touched].filter((key) => !keys.includes(key));
    const payloads = [...dumps.map((dump) => dump ?? ''), ...later.map(() => '')];
    const all = [...keys, ...later];
    await wire.send('evalsha', [scripts.restore, all.length, ...all, ...payloads], null);
    for (const { name } of this.#lanes) await this.readLane(name, 'data loss');
  }

  /** Reads a lane's state and reports it as changed by `label`. */
  async readLane(lane: string, label: string): Promise<void> {
    const known = this.#lanes.find(({ name }) => name === lane);
    if (known === undefined) return;
    const { wire, scripts } = this.#options;
    const seen = await wire.send('evalsha', [scripts.readLane, 0, known.prefix], 'utf8');
    this.#options.observed(lane, known.read(String(seen)), label);
  }

  /** The keys that still exist, of all keys that were ever used, without those that expire. */
  async remainingKeys(): Promise<string[]> {
    const found: string[] = [];
    const { wire } = this.#options;
    for (const key of this.#touched) {
      // Keys with an expiry disappear on their own.
      const expiry = await wire.send('hget', [this.#expiry, key], null);
      if (expiry === null && (await wire.send('exists', [key], null)) === 1) found.push(key);
    }
    return found;
  }

  async clear(): Promise<void> {
    await this.#options.wire.send('unlink', [...this.#touched, this.#expiry], null);
  }

  #prepared(name: string, rawArgs: Command['args']) {
    const args: (string | number | Buffer)[] = rawArgs.map((arg) =>
      typeof arg === 'string' || typeof arg === 'number' || Buffer.isBuffer(arg) ? arg : String(arg),
    );
    if (name !== 'evalsha') {
      const key = String(args[0]);
      this.#touched.add(key);
      if (name === 'unlink' || name === 'del') for (const arg of args) this.#touched.add(String(arg));
      const changes = name === 'hdel' || name === 'zrem' || name === 'zadd' || name === 'unlink';
      return [changes ? this.#laneOf(key) : undefined, args, name, name] as const;
    }
    const script = this.#options.scripts.byHash.get(String(args[0]));
    if (script === undefined) throw new Error(`no such script: ${String(args[0])}`);
    const count = Number(args[1]);
    const keys = args.slice(2, 2 + count).map(String);
    for (const key of keys) this.#touched.add(key);
    args[0] = script.hash;
    args.push(this.time, this.run.toString(16).padStart(40, '0'));
    if (script.expires) args.push(this.#expiry);
    const lane = READ_ONLY_SCRIPTS.has(script.name) ? undefined : this.#laneOf(keys[0] ?? '');
    args.push(lane?.prefix ?? '');
    return [lane, args, script.name, 'evalsha'] as const;
  }

  /** A script finds most keys of an outbox by itself: it is not called with them. */
  #touchOutbox(prefix: string, { outbox }: LaneState): void {
    if (outbox === undefined) return;
    const own = `${prefix}${OUTBOX_ID}`;
    for (const key of ['outboxes', 'tending']) this.#touched.add(`${prefix}${key}`);
    for (const key of ['messages', 'due']) this.#touched.add(`${own}:${key}`);
    for (const field of outbox.fields.keys()) {
      const [kind, day] = field.split(':');
      if (kind === 'log') this.#touched.add(`${own}:results:${day}`);
      if (kind === 'accepted') this.#touched.add(`${own}:accepted:${day}`);
    }
  }

  #laneOf(key: string) {
    return this.#lanes.find(({ prefix }) => key.startsWith(prefix));
  }
}

/** The reply to a command: the fields of a hash are sorted, because the server's order is arbitrary. */
function ordered(name: string, answer: unknown): unknown {
  if (name === 'hgetall') return byField(answer);
  // A small hash comes whole.
  if (name === 'hscan' && Array.isArray(answer)) return [answer[0], byField(answer[1])];
  return answer;
}

function byField(answer: unknown): unknown {
  if (!Array.isArray(answer)) return answer;
  const pairs = Array.from({ length: answer.length / 2 }, (_, at) => [answer[2 * at], answer[2 * at + 1]]);
  return pairs.sort(([one], [other]) => (String(one) < String(other) ? -1 : 1)).flat();
}

/** The script that a command runs, if it runs one. */
export function scriptOf({ name, args }: Command, scripts: Scripts): WrappedScript | undefined {
  return name === 'evalsha' ? scripts.byHash.get(String(args[0])) : undefined;
}

/** The name of a command or script in a trace. */
export function nameOf(command: Command, scripts: Scripts): string {
  return command.name === 'evalsha' ? (scriptOf(command, scripts)?.name ?? '?') : command.name;
}
