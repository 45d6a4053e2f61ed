import { createHash } from 'node:crypto';
import type { TokenOutcome } from '../auth/outcome.js';
import { InputError } from '../campaign/errors.js';
import { type Machine, pause, startStopwatch } from '../clock.js';
import type { Events } from '../events/events.js';
import type { NoAnswer } from './answers.js';
import type { OpenFile, RecordsClient } from './client.js';
import type { Contract } from './contract.js';
import {
  type CheckedInput,
  checkInput,
  checkParameters,
  parameterValues,
  type RecordsInput,
} from './input.js';
import type { RecordsLane, RecordsLanes } from './requests.js';
import type { RecordsState } from './states.js';
import { type RecordsStore, type StoredRequest, viewOf } from './store.js';
import { placeholdersIn, type Values } from './template.js';
import type { RecordsRequest } from './view.js';

/** How long a call may take. */
export interface RecordsOptions {
  /** Ends the waiting. A request on the wire is always finished. */
  readonly signal?: AbortSignal | undefined;
  /** How long to wait for other requests of the credential, in ms. Default: without a limit. */
  readonly waitMs?: number | undefined;
}

/** Another request of the credential is in flight. */
export class RecordsBusyError extends Error {
  override readonly name = 'RecordsBusyError';
  readonly retryInMs: number;

  constructor(retryInMs: number) {
    super('another request for call records of this credential is in flight; retry later');
    this.retryInMs = retryInMs;
  }
}

/** The lane has no access token, so nothing was sent. */
export class NoTokenError extends Error {
  override readonly name = 'NoTokenError';
  /** Whether there may be one later; otherwise an operator must act. */
  readonly mayRepeat: boolean;

  constructor(reason: string, mayRepeat: boolean) {
    super(reason);
    this.mayRepeat = mayRepeat;
  }
}

/** A file of call records. Read its body to the end, or leave the loop: only then does the next request of the credential start. */
export interface RecordsDownload {
  readonly kind: 'file';
  readonly request: RecordsRequest;
  readonly contentType: string;
  /** Null if the service does not state it. */
  readonly length: number | null;
  /** The data as the service sends it. Throws if it does not arrive complete. */
  readonly body: AsyncIterable<Buffer>;
}

/** There is no file, now or at all: `request.state` and `reason` say why. */
export interface NoRecords {
  readonly kind: 'none';
  readonly request: RecordsRequest;
  readonly reason: string;
  /** Whether a later call may get the file. */
  readonly mayRepeat: boolean;
}

/** What an operator knows about a request with an unknown outcome. */
export type RecordsResolution =
  /** The service has accepted it, under this id. */
  | { readonly as: 'accepted'; readonly serviceId: string }
  /** The service does not have it: send it again. */
  | { readonly as: 'resend' }
  | { readonly as: 'abandon' };

/** What `fetch` reports while it waits. */
type ProgressListener = (request: RecordsRequest) => unknown;

interface RecordsDeps {
  readonly store: RecordsStore;
  readonly contract: Contract;
  readonly client: RecordsClient;
  readonly lanes: RecordsLanes;
  readonly events: Events;
  readonly machine: Machine;
  /** Requests of a credential on the wire at a time. */
  readonly inFlight: number;
}

/** How often a request that another process handles is looked at. */
const LOOK_EVERY_MS = 500;
/** How soon a slot that is taken is tried again: soon at first, as most requests are quick. */
const TRY_AGAIN_MS = (tries: number): number => Math.min(10 * 1.5 ** tries, LOOK_EVERY_MS);

/** Requests call records and downloads them, as the contract says. */
export function createRecords({ store, contract, client, lanes, events, machine, inFlight }: RecordsDeps) {
  const { timeouts, intervals } = contract;
  const wait = (ms: number, signal?: AbortSignal): Promise<void> => pause(machine.alarm, ms, signal);
  const needs = credentialsIn(contract);

  /** The credentials that the contract names, and how to replace a token that the service refuses. */
  async function credentialsOf(lane: RecordsLane): Promise<Credentials> {
    const { apiKey, account } = lane.access();
    if (needs.apiKey && apiKey === undefined) {
      throw new InputError(`the contract sends {apiKey}, and the lane ${lane.name} has no API key`, {
        field: 'lane',
      });
    }
    if (!needs.accessToken) return { values: { apiKey }, generation: null };
    if (account === undefined) {
      throw new InputError(`the contract sends {accessToken}, and the lane ${lane.name} has no account`, {
        field: 'lane',
      });
    }
    return withToken(await account.get(), apiKey);
  }

  /** The credential whose requests run one at a time. No other lane has the same key. */
  function credentialOf(lane: RecordsLane): string {
    const { account } = lane.access();
    return needs.accessToken && account !== undefined ? `account-${account.id}` : `lane-${lane.id}`;
  }

  /** Sends a new request, or one that is planned. Returns the request as it is afterwards, or the open one with its key. */
  async function send(
    lane: RecordsLane,
    first: {
      readonly id: string;
      readonly key: string;
      readonly details?: CheckedInput & { readonly lane: string };
    },
    content: Pick<CheckedInput, 'from' | 'to' | 'parameters'>,
    options: RecordsOptions & { readonly again?: boolean | undefined },
  ): Promise<StoredRequest> {
    const credential = credentialOf(lane);
    const values = parameterValues(content, contract);
    const leaseMs = 2 * timeouts.request;
    const age = startStopwatch(machine);
    let { id, details } = first;
    let mayRenew = true;
    let tries = 0;
    let credentials = await credentialsOf(lane);
    for (;;) {
      options.signal?.throwIfAborted();
      const post = client.request(values, credentials.values);
      const claim = machine.nonce();
      const claimAge = startStopwatch(machine);
      const reply = await store.claim(
        credential,
        { id, claim, leaseMs, limit: inFlight, ...(details && { details }), again: options.again === true },
        first.key,
      );
      if (reply.kind === 'open') {
        const open = await store.read(reply.id);
        if (open.state !== 'planned') return open;
        [id, details] = [open.id, undefined];
        continue;
      }
      if (reply.kind === 'taken') return store.read(id);
      if (reply.kind === 'wait') {
        if (age() + reply.ms > (options.waitMs ?? Number.POSITIVE_INFINITY))
          throw new RecordsBusyError(reply.ms);
        await wait(Math.min(reply.ms, TRY_AGAIN_MS(tries)), options.signal);
        tries += 1;
        continue;
      }
      // A call that took long must not send: another process may count the outcome as unknown by then.
      const outcome = await post({ isLate: () => claimAge() > timeouts.request });
      const stored = { credential, id, key: first.key };
      const settle = (changes: Parameters<RecordsStore['settle']>[2], waitMs = 0): Promise<boolean> =>
        store.settle(stored, ['requesting'], changes, { claim, waitMs });
      const notAccepted = (kind: 'notAccepted' | 'refused' | 'unknown', reason: string): void =>
        events.emit({ type: 'records.notAccepted', lane: lane.name, records: id, outcome: kind, reason });
      switch (outcome.kind) {
        case 'accepted':
          await settle({ state: 'pending', serviceId: outcome.serviceId });
          events.emit({ type: 'records.requested', lane: lane.name, records: id });
          return store.read(id);
        case 'unauthorised': {
          await settle({ state: 'planned', reason: outcome.reason });
          details = undefined;
          const renewed = mayRenew ? await renewedCredentials(lane, credentials) : null;
          mayRenew = false;
          if (renewed !== null) {
            credentials = renewed;
            continue;
          }
          await store.settle(stored, ['planned'], { state: 'refused', reason: outcome.reason });
          notAccepted('refused', outcome.reason);
          return store.read(id);
        }
        case 'notAccepted': {
          const { reason, retryAfterMs } = outcome;
          await settle({ state: 'planned', reason }, Math.max(intervals.retry, retryAfterMs ?? 0));
          notAccepted('notAccepted', reason);
          return store.read(id);
        }
        case 'refused':
        case 'unknown':
          await settle({ state: outcome.kind, reason: outcome.reason });
          notAccepted(outcome.kind, outcome.reason);
          return store.read(id);
        default:
          return outcome satisfies never;
      }
    }
  }

  async function renewedCredentials(lane: RecordsLane, used: Credentials): Promise<Credentials | null> {
    const { apiKey, account } = lane.access();
    if (used.generation === null || account === undefined) return null;
    return withToken(await account.newerThan(used.generation), apiKey);
  }

  /** Waits for a slot of the credential. */
  async function takeSlot(
    lane: RecordsLane,
    leaseMs: number,
    { signal, waitMs }: RecordsOptions,
  ): Promise<HeldSlot> {
    const credential = credentialOf(lane);
    const holder = machine.nonce();
    const slot = { holder, leaseMs, limit: inFlight };
    const age = startStopwatch(machine);
    let sinceTaken = startStopwatch(machine);
    for (let tries = 0; ; tries += 1) {
      signal?.throwIfAborted();
      sinceTaken = startStopwatch(machine);
      const ms = await store.takeSlot(credential, slot);
      if (ms === 0) break;
      if (age() + ms > (waitMs ?? Number.POSITIVE_INFINITY)) throw new RecordsBusyError(ms);
      await wait(Math.min(ms, TRY_AGAIN_MS(tries)), signal);
    }
    return {
      isLate: () => sinceTaken() > leaseMs / 2,
      async renew() {
        const since = startStopwatch(machine);
        if (!(await store.renewSlot(credential, slot))) return false;
        sinceTaken = since;
        return true;
      },
      release: () => store.releaseSlot(credential, holder),
    };
  }

  /** Runs a prepared request with the lane's credentials, and once more with a newer token after a 401. */
  async function withCredentials<Outcome extends { readonly kind: string }>(
    lane: RecordsLane,
    run: (credentials: Values) => Promise<Outcome>,
  ): Promise<Outcome> {
    const credentials = await credentialsOf(lane);
    const outcome = await run(credentials.values);
    if (outcome.kind !== 'unauthorised') return outcome;
    const renewed = await renewedCredentials(lane, credentials);
    return renewed === null ? outcome : run(renewed.values);
  }

  /** Asks the service how far a request is, and records it. */
  async function ask(stored: StoredRequest, lane: RecordsLane, options: RecordsOptions): Promise<Asked> {
    const slot = await takeSlot(lane, 2 * timeouts.status, options);
    try {
      return await askNow(stored, lane, slot);
    } finally {
      await slot.release();
    }
  }

  async function askNow(stored: StoredRequest, lane: RecordsLane, slot: HeldSlot): Promise<Asked> {
    const values = { ...parameterValues(stored, contract), id: stored.serviceId };
    const outcome = await withCredentials(lane, (credentials) =>
      client.status(values, credentials)({ isLate: slot.isLate }),
    );
    const open: readonly RecordsState[] = ['pending', 'ready'];
    if (outcome.kind !== 'word') {
      const { kind, reason } = outcome;
      const waitMs = Math.max(intervals.retry, kind === 'later' ? (outcome.retryAfterMs ?? 0) : 0);
      if (stored.state === 'pending')
        await store.settle(stored, open, { state: 'pending', reason }, { waitMs });
      return { problem: outcome, address: null };
    }
    const { word, meaning, address } = outcome;
    const state = meaning === 'unlisted' ? 'pending' : meaning;
    const reason =
      meaning === 'unlisted' ? `the contract does not list the word ${JSON.stringify(word)}` : '';
    const waitMs = state === 'pending' ? intervals.status : 0;
    const hasEnded = state === 'failed' || state === 'expired' || state === 'empty';
    const from = hasEnded ? [...open, 'downloaded' as const] : open;
    const changed = await store.settle(stored, from, { state, word, reason }, { waitMs });
    if (changed && hasEnded) {
      events.emit({ type: 'records.ended', lane: lane.name, records: stored.id, outcome: state, word });
    }
    return { problem: null, address };
  }

  /** Opens the download of a file that is ready. The slot is held until its body is read. */
  async function open(
    stored: StoredRequest,
    lane: RecordsLane,
    parameters: Readonly<Record<string, string>>,
    options: RecordsOptions,
  ): Promise<RecordsDownload | NoAnswer> {
    const leaseMs = 2 * Math.max(timeouts.silence, timeouts.status);
    const slot = await takeSlot(lane, leaseMs, options);
    const control = new AbortController();
    let cancel: () => void = () => {};
    const age = startStopwatch(machine);
    const release = async (): Promise<void> => {
      cancel();
      options.signal?.removeEventListener('abort', abort);
      await slot.release();
    };
    const abort = (): void => control.abort();
    const renewLater = (): void => {
      cancel = machine.alarm(leaseMs / 4, () => {
        // A body that is never read must not hold the slot for ever.
        if (age() > timeouts.download + leaseMs) return;
        slot.renew().then(
          (isHeld) => (isHeld ? renewLater() : control.abort()),
          () => (slot.isLate() ? control.abort() : renewLater()),
        );
      });
    };
    try {
      renewLater();
      options.signal?.addEventListener('abort', abort, { once: true });
      let address: string | null = null;
      if (contract.download.address !== null) {
        // Such addresses often expire soon, so each download asks for a new one.
        const asked = await askNow(stored, lane, slot);
        const now = await store.read(stored.id);
        if (asked.problem !== null || (now.state !== 'ready' && now.state !== 'downloaded')) {
          await release();
          return asked.problem ?? { kind: 'later', reason: 'the file is not ready', retryAfterMs: null };
        }
        address = asked.address;
      }
      const content = { ...stored, parameters: { ...stored.parameters, ...parameters } };
      const values = { ...parameterValues(content, contract), id: stored.serviceId };
      const file: OpenFile | NoAnswer = await withCredentials(lane, (credentials) =>
        client.download(values, address, credentials)({ signal: control.signal, isLate: slot.isLate }),
      );
      if (file.kind !== 'file') {
        await release();
        return file;
      }
      const { contentType, length } = file;
      const body = settledBody(file.body, stored, lane, release);
      return { kind: 'file', request: viewOf(stored, lane.name), contentType, length, body };
    } catch (error) {
      await release();
      throw error;
    }
  }

  async function* settledBody(
    body: AsyncIterable<Buffer>,
    stored: StoredRequest,
    lane: RecordsLane,
    release: () => Promise<void>,
  ): AsyncGenerator<Buffer> {
    const digest = createHash('sha256');
    let bytes = 0;
    try {
      for await (const chunk of body) {
        digest.update(chunk);
        bytes += chunk.length;
        yield chunk;
      }
      const sha256 = digest.digest('hex');
      await store.settle(stored, ['ready', 'downloaded'], { state: 'downloaded', bytes, sha256 });
      events.emit({ type: 'records.downloaded', lane: lane.name, records: stored.id, bytes });
    } finally {
      await release();
    }
  }

  const laneOf = (stored: StoredRequest): Promise<RecordsLane> => lanes.withId(stored.lane);
  const view = async (stored: StoredRequest): Promise<RecordsRequest> =>
    viewOf(stored, (await laneOf(stored)).name);

  async function requested(input: RecordsInput, options: RecordsOptions & { again?: boolean | undefined }) {
    const lane = await lanes.named(input.lane);
    const checked = checkInput(input, contract, machine.clock());
    const id = newRecordsId(machine);
    const details = { ...checked, lane: lane.id };
    // A key belongs to its lane: several lanes may share an account.
    return send(lane, { id, key: `${checked.key}:${lane.id}`, details }, checked, options);
  }

  async function fetch(
    wanted: RecordsInput | { readonly id: string },
    options: RecordsOptions & {
      readonly again?: boolean | undefined;
      readonly parameters?: Readonly<Record<string, string>> | undefined;
      readonly onProgress?: ProgressListener | undefined;
    } = {},
  ): Promise<RecordsDownload | NoRecords> {
    const { signal, onProgress } = options;
    const parameters = downloadParameters(options.parameters ?? {});
    const age = startStopwatch(machine);
    let stored = 'id' in wanted ? await store.read(wanted.id) : await requested(wanted, options);
    const lane = await laneOf(stored);
    const none = (reason: string, mayRepeat: boolean): NoRecords => ({
      kind: 'none',
      request: viewOf(stored, lane.name),
      reason,
      mayRepeat,
    });
    for (;;) {
      signal?.throwIfAborted();
      onProgress?.(viewOf(stored, lane.name));
      switch (stored.state) {
        case 'planned':
          if (age() + stored.waitMs > timeouts.ready)
            return none(stored.reason || 'it is not sent yet', true);
          await wait(stored.waitMs, signal);
          stored = await send(lane, { id: stored.id, key: stored.key }, stored, options);
          break;
        case 'requesting':
          await wait(LOOK_EVERY_MS, signal);
          stored = await store.read(stored.id);
          break;
        case 'pending': {
          if (age() + stored.waitMs > timeouts.ready)
            return none(stored.reason || 'it is not ready yet', true);
          await wait(stored.waitMs, signal);
          const { problem } = await ask(stored, lane, options);
          stored = await store.read(stored.id);
          if (problem !== null && problem.kind !== 'later') return none(problem.reason, true);
          break;
        }
        case 'ready':
        case 'downloaded': {
          const opened = await open(stored, lane, parameters, options);
          if (opened.kind === 'file') return opened;
          if (opened.kind !== 'later') return none(opened.reason, true);
          const waitMs = Math.max(intervals.retry, opened.retryAfterMs ?? 0);
          stored = await store.read(stored.id);
          if (stored.state !== 'ready' && stored.state !== 'downloaded') break;
          if (age() + waitMs > timeouts.ready) return none(opened.reason, true);
          await wait(waitMs, signal);
          // The file may have expired.
          await ask(stored, lane, options);
          stored = await store.read(stored.id);
          break;
        }
        case 'unknown':
        case 'refused':
        case 'failed':
        case 'expired':
        case 'empty':
        case 'abandoned':
          return none(reasonFor(stored), false);
        default:
          return stored.state satisfies never;
      }
    }
  }

  /** Parameters that only the download uses, such as its format. */
  function downloadParameters(given: Readonly<Record<string, string>>): Record<string, string> {
    const own = checkParameters(given, contract, true);
    const elsewhere = new Set(
      [...textsOf(contract.request), ...textsOf(contract.status)].flatMap(placeholdersIn),
    );
    const wrong = Object.keys(own).find((name) => elsewhere.has(name));
    if (wrong === undefined) return own;
    throw new InputError(`${wrong} belongs to the request and cannot be changed for its download`, {
      field: `parameters/${wrong}`,
    });
  }

  return {
    /**
     * Requests records, at most once: if the process dies before the response, the outcome is unknown until an operator resolves it.
     * A request with the same key that has not ended without a file is returned instead. Rejects with an InputError before anything is sent.
     */
    async request(
      input: RecordsInput,
      options: RecordsOptions & { readonly again?: boolean | undefined } = {},
    ): Promise<RecordsRequest> {
      return view(await requested(input, options));
    },

    /** Asks the service how far an open request is, at most once per interval of the contract. */
    async status(id: string, options: RecordsOptions = {}): Promise<RecordsRequest> {
      const stored = await store.read(id);
      const isOpen = stored.state === 'pending' || stored.state === 'ready';
      if (isOpen && stored.waitMs === 0) await ask(stored, await laneOf(stored), options);
      return view(await store.read(id));
    },

    /** Opens the download of a file that is ready. `parameters`: those that only the download uses. */
    async download(
      id: string,
      options: RecordsOptions & { readonly parameters?: Readonly<Record<string, string>> | undefined } = {},
    ): Promise<RecordsDownload | NoRecords> {
      const stored = await store.read(id);
      const lane = await laneOf(stored);
      const parameters = downloadParameters(options.parameters ?? {});
      const isReady = stored.state === 'ready' || stored.state === 'downloaded';
      const opened = isReady ? await open(stored, lane, parameters, options) : null;
      if (opened?.kind === 'file') return opened;
      const request = viewOf(await store.read(id), lane.name);
      const mayRepeat = opened !== null || ['planned', 'requesting', 'pending'].includes(stored.state);
      return { kind: 'none', request, reason: opened?.reason ?? reasonFor(stored), mayRepeat };
    },

    /** Requests records or takes up a request, waits until its file is ready, and opens the download. */
    fetch,

    /** Settles a request with an unknown outcome, or abandons one that is planned. */
    async resolve(
      id: string,
      resolution: RecordsResolution,
      options: RecordsOptions = {},
    ): Promise<RecordsRequest> {
      const stored = await store.read(id);
      const isPlanned = stored.state === 'planned' && resolution.as === 'abandon';
      if (stored.state !== 'unknown' && !isPlanned) {
        throw new InputError(
          `the request ${id} is ${stored.state}; only one with an unknown outcome can be resolved`,
        );
      }
      const settle = async (changes: Parameters<RecordsStore['settle']>[2]): Promise<void> => {
        if (await store.settle(stored, ['unknown', 'planned'], changes)) return;
        throw new InputError(`the request ${id} has changed meanwhile; look at it again`);
      };
      switch (resolution.as) {
        case 'accepted': {
          const { serviceId } = resolution;
          if (serviceId.trim() === '')
            throw new InputError('the id of the service is empty', { field: 'serviceId' });
          await settle({ state: 'pending', serviceId });
          break;
        }
        case 'resend': {
          const lane = await laneOf(stored);
          await settle({ state: 'planned' });
          return view(await send(lane, { id, key: stored.key }, stored, options));
        }
        case 'abandon':
          await settle({ state: 'abandoned' });
          break;
        default:
          resolution satisfies never;
      }
      return view(await store.read(id));
    },

    close: () => client.close(),
  };
}

/** See {@link createRecords}. */
export type RecordsService = ReturnType<typeof createRecords>;

interface Credentials {
  readonly values: Values;
  /** Of the token; null without one. */
  readonly generation: number | null;
}

interface HeldSlot {
  /** Whether a request that starts now may outlast the slot. */
  readonly isLate: () => boolean;
  /** Returns whether it was still held. */
  renew(): Promise<boolean>;
  release(): Promise<void>;
}

/** The answer to a status request, which is recorded already. */
interface Asked {
  readonly problem: NoAnswer | null;
  readonly address: string | null;
}

function withToken(outcome: TokenOutcome, apiKey: string | undefined): Credentials {
  if (outcome.kind === 'token') {
    return { values: { apiKey, accessToken: outcome.token }, generation: outcome.generation };
  }
  throw new NoTokenError(outcome.reason, outcome.kind === 'later');
}

function credentialsIn(contract: Contract): { readonly apiKey: boolean; readonly accessToken: boolean } {
  const names = [contract.request, contract.status, contract.download].flatMap(({ headers }) =>
    Object.values(headers).flatMap(placeholdersIn),
  );
  return { apiKey: names.includes('apiKey'), accessToken: names.includes('accessToken') };
}

/** Every template of a part, as one text. */
function textsOf(part: Contract['request'] | Contract['status']): string[] {
  return [part.path, JSON.stringify(part.headers), JSON.stringify(part.body)];
}

function reasonFor({ state, reason, word, id }: StoredRequest): string {
  const said = word === undefined ? '' : ` (${word})`;
  switch (state) {
    case 'unknown':
      return `the service may or may not have accepted the request: ${reason || 'no response'}. Look it up there, then: volley records resolve ${id}`;
    case 'refused':
      return `the service refused the request: ${reason}`;
    case 'failed':
      return `the request failed at the service${said}`;
    case 'expired':
      return `the file is no longer available${said}`;
    case 'empty':
      return `there are no records${said}`;
    case 'abandoned':
      return 'the request was abandoned';
    case 'planned':
    case 'requesting':
    case 'pending':
    case 'ready':
    case 'downloaded':
      return reason || 'the file is not ready yet';
    default:
      return state satisfies never;
  }
}

/** An id that begins with the time, so that ids sort in the order of their creation. */
function newRecordsId({ clock, random }: Machine): string {
  const time = clock().toString(36).padStart(8, '0');
  return `${time}${Math.floor(random() * 36 ** 5)
    .toString(36)
    .padStart(5, '0')}`;
}
