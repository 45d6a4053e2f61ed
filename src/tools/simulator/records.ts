import { createHash } from 'node:crypto';
import { sample } from './rules/distribution.js';
import { drawFault, type RecordsFault, type RecordsReadFault } from './rules/faults.js';
import type { Settings } from './rules/options.js';
import type { RecordsJob } from './state/changes.js';
import type { KeyRing, KeyState } from './state/key-ring.js';
import type { Simulation } from './state/simulation.js';
import { type Effect, effectOf } from './wire/fault-effects.js';
import { type Answer, failure, type Incoming } from './wire/wire.js';

type Contract = NonNullable<Settings['records']['contract']>;
type Part = 'request' | 'status' | 'download';
type Filled = Readonly<Record<string, string>>;

/** A request for records that the simulator accepted. */
export interface RecordsEntry extends Omit<RecordsJob, 'end' | 'readyAt' | 'secret'> {
  readonly state: 'pending' | 'ready' | 'failed' | 'expired' | 'empty';
  /** Of its file. */
  readonly sha256: string;
}

/** Above what a double keeps exactly, so that a client that reads ids as numbers shows. */
const FIRST_ID = 9_007_199_254_740_993n;
const FILES = '/_files/';

/** The call records of a service (area C), for any contract. */
export class Records {
  readonly #keys: KeyRing;
  readonly #simulation: Simulation;
  readonly #jobs = new Map<string, RecordsJob>();
  readonly #inFlight = new Map<string, number>();
  #nextId: bigint;
  /** The most requests of one credential that were in flight at the same time. */
  maxInFlight = 0;

  constructor(simulation: Simulation, keys: KeyRing, now: number) {
    // A restarted simulator does not repeat ids.
    this.#nextId = FIRST_ID + 1_000n * BigInt(Math.floor(now));
    this.#simulation = simulation;
    this.#keys = keys;
  }

  get #settings(): Settings['records'] {
    return this.#simulation.settings.records;
  }

  /** Every accepted request, oldest first. */
  *entries(now: number): Generator<RecordsEntry> {
    for (const job of this.#jobs.values()) {
      const { id, key, at, values, downloads } = job;
      const sha256 = createHash('sha256').update(this.#fileOf(job)).digest('hex');
      yield { id, key, at, values, downloads, state: this.#stateOf(job, now), sha256 };
    }
  }

  restore(job: RecordsJob): void {
    this.#jobs.set(job.id, job);
    if (this.#nextId <= BigInt(job.id)) this.#nextId = BigInt(job.id) + 1n;
  }

  clear(): void {
    this.#jobs.clear();
    this.maxInFlight = 0;
  }

  /** Whether a request is for call records. Call `begin` when it arrives and the result of it when the response is closed. */
  matches({ method, path }: Incoming): boolean {
    return (
      this.#settings.contract !== null && (path.startsWith(FILES) || this.#partOf(method, path) !== null)
    );
  }

  begin({ headers, method, path }: Incoming, now: number): () => void {
    const part = this.#partOf(method, path)?.part;
    const key = part === undefined ? 'files' : (this.#keyOf(part, headers, now)?.name ?? 'unauthorised');
    const count = (this.#inFlight.get(key) ?? 0) + 1;
    this.#inFlight.set(key, count);
    this.maxInFlight = Math.max(this.maxInFlight, count);
    return () => void this.#inFlight.set(key, (this.#inFlight.get(key) ?? 0) - 1);
  }

  handle(request: Incoming, now: number, origin: string): Answer {
    if (request.path.startsWith(FILES)) return this.#file(request, now);
    const addressed = this.#partOf(request.method, request.path);
    const contract = this.#settings.contract;
    if (addressed === null || contract === null) return failure(404, 'no such resource');
    const { part, values: fromPath } = addressed;
    const key = this.#keyOf(part, request.headers, now);
    if (key === undefined) return failure(401, 'the credentials are missing or invalid');
    const read = readValues(contract, part, request);
    if (typeof read === 'string') return failure(400, read);
    const values = { ...fromPath, ...read };
    if (part === 'request') return this.#accept(contract, key, values, now);
    const job = this.#jobs.get(values['id'] ?? '');
    if (job === undefined || job.key !== key.name) return failure(404, 'no such request');
    return part === 'status' ? this.#status(contract, job, now, origin) : this.#download(job, now);
  }

  #accept(contract: Contract, key: KeyState, values: Filled, now: number): Answer {
    const fault = drawFault(this.#settings.faults, this.#simulation.random);
    const effect = fault === undefined || fault === 'withoutId' ? undefined : this.#effectOf(fault, now);
    if (effect?.isProcessed === false) return effect.answer;
    const { failed, empty, pending } = this.#settings;
    const drawn = this.#simulation.random();
    const id = String(this.#nextId);
    const end = drawn < failed ? 'failed' : drawn < failed + empty ? 'empty' : 'ready';
    const secret = Math.floor(this.#simulation.random() * 36 ** 8).toString(36);
    const readyAt = now + sample(pending, this.#simulation.random);
    const job: RecordsJob = { id, key: key.name, at: now, values, end, readyAt, secret, downloads: 0 };
    this.restore(job);
    this.#simulation.record({ kind: 'recordsAccepted', job });
    if (effect !== undefined) return effect.answer;
    if (fault === 'withoutId') return answerWith([]);
    return answerWith([[contract.request.id, id]]);
  }

  #effectOf(fault: Exclude<RecordsFault | RecordsReadFault, 'withoutId' | 'cut'>, now: number): Effect {
    return effectOf(fault === 'throttle' ? 'throttleSeconds' : fault, { now, retryAfterSeconds: 1 });
  }

  #status({ status, download }: Contract, job: RecordsJob, now: number, origin: string): Answer {
    const fault = drawFault(this.#settings.readFaults, this.#simulation.random);
    if (fault !== undefined && fault !== 'cut') return this.#effectOf(fault, now).answer;
    const state = this.#stateOf(job, now);
    const [word] = status[state];
    if (word === undefined) return failure(404, 'no such request');
    const members: [string, string][] = [[status.word, JSON.stringify(word)]];
    if (state === 'ready' && download.address !== null) {
      const address = `${this.#settings.downloadOrigin ?? origin}${FILES}${job.id}/${job.secret}`;
      members.push([download.address, JSON.stringify(address)]);
    }
    return answerWith(members);
  }

  #download(job: RecordsJob, now: number): Answer {
    if (this.#stateOf(job, now) !== 'ready') return failure(404, 'there is no file');
    const fault = drawFault(this.#settings.readFaults, this.#simulation.random);
    if (fault !== undefined && fault !== 'cut') return this.#effectOf(fault, now).answer;
    const body = this.#fileOf(job);
    if (fault === 'cut')
      return { kind: 'cut', body, length: Math.floor(body.length * this.#simulation.random()) };
    job.downloads += 1;
    return { kind: 'reply', status: 200, headers: ['Content-Type', 'application/octet-stream'], body };
  }

  /** A download address proves by its secret part that the service made it. */
  #file({ path, headers }: Incoming, now: number): Answer {
    const [id = '', secret] = path.slice(FILES.length).split('/');
    const job = this.#jobs.get(id);
    if (job === undefined || job.secret !== secret) return failure(404, 'there is no file');
    const isElsewhere = this.#settings.downloadOrigin !== null;
    if (isElsewhere && ('authorization' in headers || 'x-authorization' in headers)) {
      return failure(400, 'credentials do not belong here');
    }
    return this.#download(job, now);
  }

  #stateOf({ end, readyAt }: RecordsJob, now: number): RecordsEntry['state'] {
    const { expiresAfterMs } = this.#settings;
    if (now < readyAt) return 'pending';
    return end === 'ready' && expiresAfterMs !== null && now >= readyAt + expiresAfterMs ? 'expired' : end;
  }

  /** Call records that differ for every request, and are the same for each of its downloads. */
  #fileOf({ id, values }: Pick<RecordsJob, 'id' | 'values'>): string {
    const asked = Object.entries(values).map(([name, value]) => `${name}=${value}`);
    let text = 'request;callTimestamp;aNumber;bNumber;durationSeconds\r\n';
    for (let row = 0; text.length < this.#settings.bytes; row += 1) {
      const digest = createHash('sha256').update(`${id} ${row}`).digest();
      const [from, to] = [digest.readUInt32BE(0), digest.readUInt32BE(4)];
      text += `${id} ${asked.join(' ')};${values['from'] ?? ''} 00:00:00;+32${from};+45${to};${digest.readUInt16BE(8)}\r\n`;
    }
    return text;
  }

  #partOf(method: string, path: string): { part: Part; values: Filled } | null {
    const contract = this.#settings.contract;
    if (contract === null) return null;
    const base = new URL(contract.baseUrl).pathname.replace(/\/+$/, '');
    for (const part of ['request', 'status', 'download'] as const) {
      const { path: expected, method: own } = contract[part];
      if (expected === null || own !== method || !path.startsWith(`${base}/`)) continue;
      const values = matched(expected.replace(/\?.*/s, ''), path.slice(base.length), '[^/]+');
      if (values !== null) {
        return { part, values: mapValues(values, decoded) };
      }
    }
    return null;
  }

  /** The owner of the credentials; undefined if a header of the contract is missing, or has another value. */
  #keyOf(part: Part, headers: Incoming['headers'], now: number): KeyState | undefined {
    let key: KeyState | undefined;
    for (const [name, expected] of Object.entries(this.#settings.contract?.[part].headers ?? {})) {
      const values = matched(expected, String(headers[name.toLowerCase()] ?? ''), '.*');
      if (values === null) return undefined;
      for (const placeholder of ['apiKey', 'accessToken'] as const) {
        const credential = values[placeholder];
        if (credential === undefined) continue;
        key = this.#keys.ownerOf(placeholder, credential, now);
        if (key === undefined) return undefined;
      }
    }
    return key;
  }
}

/** The values of a body and a query; otherwise what is wrong with them. */
function readValues(contract: Contract, part: Part, { query, body }: Incoming): Filled | string {
  const { path, body: expected } = contract[part];
  const isOptional = (text: string): boolean =>
    namesIn(text).some((name) => contract.parameters[name]?.required === false);
  const values: Record<string, string> = {};
  const readPairs = (pairs: readonly (readonly [string, string])[], read: URLSearchParams): string | null => {
    for (const name of read.keys())
      if (!pairs.some(([each]) => each === name)) return `unknown parameter ${name}`;
    for (const [name, text] of pairs) {
      const value = read.get(name);
      if (value === null && isOptional(text)) continue;
      const named = value === null ? null : matched(text, value, '.*');
      if (named === null) return `parameter ${name} is missing or wrong`;
      Object.assign(values, named);
    }
    return null;
  };
  const readJson = (shape: unknown, value: unknown, at: string): string | null => {
    if (typeof shape === 'string') {
      if (typeof value === 'object' || value === undefined) return `${at} is missing or wrong`;
      const named = matched(shape, String(value), '.*');
      if (named === null) return `${at} is wrong`;
      Object.assign(values, named);
      return null;
    }
    if (typeof shape !== 'object' || shape === null) return shape === value ? null : `${at} is wrong`;
    if (typeof value !== 'object' || value === null) return `${at} is missing or wrong`;
    const [members, given] = [Object.entries(shape), new Map(Object.entries(value))];
    for (const name of given.keys())
      if (!members.some(([each]) => each === name)) return `${at}/${name} is unknown`;
    for (const [name, text] of members) {
      if (!given.has(name) && typeof text === 'string' && isOptional(text)) continue;
      const problem = readJson(text, given.get(name), `${at}/${name}`);
      if (problem !== null) return problem;
    }
    return null;
  };
  const pairs = [...new URLSearchParams(path?.replace(/^[^?]*\??/, '') ?? '')];
  const problem = readPairs(pairs, new URLSearchParams(query));
  if (problem !== null) return problem;
  if (expected === null) return body === '' ? values : 'there must be no body';
  if ('form' in expected)
    return readPairs(Object.entries(expected.form), new URLSearchParams(body)) ?? values;
  try {
    return readJson(expected.json, JSON.parse(body), '') ?? values;
  } catch {
    return 'the body is not JSON';
  }
}

function namesIn(text: string): string[] {
  return [...text.matchAll(/\{([^{}]*)\}/g)].map(([, name = '']) => name);
}

/** The values of a template's placeholders in a text; null if the text has another form. */
function matched(text: string, value: string, any: string): Record<string, string> | null {
  const names = namesIn(text);
  const literals = text.split(/\{[^{}]*\}/).map((literal) => literal.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  const match = new RegExp(`^${literals.join(`(${any})`)}$`, 's').exec(value);
  return match === null ? null : Object.fromEntries(names.map((name, at) => [name, match[at + 1] ?? '']));
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function mapValues(values: Filled, change: (value: string) => string): Filled {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, change(value)]));
}

/** A JSON object with these values, already written as JSON, at these pointers. */
function answerWith(members: readonly (readonly [pointer: string, json: string])[]): Answer {
  const headers = ['Content-Type', 'application/json'];
  const write = (all: readonly (readonly [steps: readonly string[], json: string])[]): string => {
    const whole = all.find(([steps]) => steps.length === 0);
    if (whole !== undefined) return whole[1];
    const names = [...new Set(all.map(([[first = '']]) => first))];
    const written = names.map((name) => {
      const below = all
        .filter(([[first]]) => first === name)
        .map(([steps, json]) => [steps.slice(1), json] as const);
      return `${JSON.stringify(name)}:${write(below)}`;
    });
    return `{${written.join(',')}}`;
  };
  const split = members.map(([pointer, json]) => {
    const steps = pointer.split('/').slice(1);
    return [steps.map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~')), json] as const;
  });
  return { kind: 'reply', status: 200, headers, body: write(split) };
}
