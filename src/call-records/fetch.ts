import { pause, startStopwatch } from '../base/clock.js';
import type { StatusAsker } from './ask-status.js';
import type { FileOpener, RecordsDownload } from './open-file.js';
import type { RecordsContext, RequestOptions, RequestSender } from './send-request.js';
import type { RecordsLane } from './store/lanes.js';
import { LOOK_EVERY_MS } from './store/slots.js';
import { hasFile, type RecordsState } from './store/states.js';
import { type StoredRequest, viewOf } from './store/store.js';
import type { RecordsRequest } from './store/view.js';

/** There is no file, now or at all: `request.state` and `reason` say why. */
export interface NoRecords {
  readonly kind: 'none';
  readonly request: RecordsRequest;
  readonly code: 'noFile' | 'unknownOutcome';
  readonly reason: string;
  /** Whether a later call may get the file. */
  readonly mayRepeat: boolean;
}

/** That there is no file, and why. */
export function noRecords(request: RecordsRequest, reason: string, mayRepeat: boolean): NoRecords {
  const code = request.state === 'unknown' ? 'unknownOutcome' : 'noFile';
  return { kind: 'none', request, code, reason, mayRepeat };
}

/** Options of a fetch. */
export interface FetchOptions extends RequestOptions {
  /** Parameters that only the download uses. */
  readonly parameters?: Readonly<Record<string, string>> | undefined;
  /** Called with the request whenever its state may have changed. */
  readonly onProgress?: ((request: RecordsRequest) => unknown) | undefined;
}

/** The steps of a fetch. */
interface Steps {
  readonly send: RequestSender;
  readonly asker: StatusAsker;
  readonly open: FileOpener;
}

/** Takes requests through their states until their files can be downloaded. */
export function fetcher({ store, contract, machine }: RecordsContext, { send, asker, open }: Steps) {
  const { timeouts, intervals } = contract;

  return async (
    first: StoredRequest,
    lane: RecordsLane,
    parameters: Readonly<Record<string, string>>,
    options: FetchOptions,
  ): Promise<RecordsDownload | NoRecords> => {
    const { signal, onProgress } = options;
    const age = startStopwatch(machine);
    /** Waits, unless `fetch` would take too long then. */
    const waited = async (ms: number): Promise<boolean> => {
      if (age() + ms > timeouts.ready) return false;
      await pause(machine.alarm, ms, signal);
      return true;
    };
    let stored = first;
    const none = async (reason: string, mayRepeat: boolean): Promise<NoRecords> => {
      const request = viewOf(await store.read(stored.id), lane.name);
      return noRecords(request, reason, mayRepeat);
    };
    for (;;) {
      signal?.throwIfAborted();
      onProgress?.(viewOf(stored, lane.name));
      const { id, key, state, reason, waitMs } = stored;
      switch (state) {
        case 'planned':
          if (!(await waited(waitMs))) return none(reason || 'it is not sent yet', true);
          await send(lane, { id, key, content: stored }, options);
          break;
        case 'requesting':
          await pause(machine.alarm, LOOK_EVERY_MS, signal);
          break;
        case 'pending': {
          if (!(await waited(waitMs))) return none(reason || 'it is not ready yet', true);
          const { problem } = await asker.ask(stored, lane, options);
          if (problem !== null && problem.kind !== 'later') return none(problem.reason, true);
          break;
        }
        case 'ready':
        case 'downloaded': {
          const opened = await open(stored, lane, parameters, options);
          if (opened.kind === 'file') return opened;
          if (opened.kind !== 'later') return none(opened.reason, true);
          if (!hasFile((await store.read(id)).state)) break;
          const again = await waited(Math.max(intervals.retry, opened.retryAfterMs ?? 0));
          if (!again) return none(opened.reason, true);
          // The file may have expired.
          await asker.ask(stored, lane, options);
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
          return state satisfies never;
      }
      stored = await store.read(id);
    }
  };
}

/** How requests end that have no file. */
const ENDS: Partial<Record<RecordsState, string>> = {
  refused: 'the service refused the request',
  failed: 'the request failed at the service',
  expired: 'the file is no longer available',
  empty: 'there are no records',
  abandoned: 'the request was abandoned',
};

/** Why there is no file, for people. */
export function reasonFor({ state, reason, word, id }: StoredRequest): string {
  if (state === 'unknown')
    return `the service may or may not have accepted the request: ${reason || 'no response'}. Look it up there, then: volley records resolve ${id}`;
  const end = ENDS[state];
  if (end === undefined) return reason || 'the file is not ready yet';
  if (state === 'refused') return `${end}: ${reason}`;
  return word === undefined ? end : `${end} (${word})`;
}
