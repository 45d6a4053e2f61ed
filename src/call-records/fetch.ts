import { pause, startStopwatch } from '../base/clock.js';
import type { StatusAsker } from './ask-status.js';
import type { RecordsLane } from './lanes.js';
import type { FileOpener, RecordsDownload } from './open-file.js';
import type { RecordsContext, RequestSender } from './send-request.js';
import { LOOK_EVERY_MS, type RecordsOptions } from './slots.js';
import { type StoredRequest, viewOf } from './store.js';
import type { RecordsRequest } from './view.js';

/** There is no file, now or at all: `request.state` and `reason` say why. */
export interface NoRecords {
  readonly kind: 'none';
  readonly request: RecordsRequest;
  readonly reason: string;
  /** Whether a later call may get the file. */
  readonly mayRepeat: boolean;
}

/** Options of a fetch. */
export interface FetchOptions extends RecordsOptions {
  /** Send a new request although one with the same key is open. */
  readonly again?: boolean | undefined;
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
    const wait = (ms: number): Promise<void> => pause(machine.alarm, ms, signal);
    const age = startStopwatch(machine);
    const isTooLong = (waitMs: number): boolean => age() + waitMs > timeouts.ready;
    let stored = first;
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
          if (isTooLong(stored.waitMs)) return none(stored.reason || 'it is not sent yet', true);
          await wait(stored.waitMs);
          stored = await send(lane, { id: stored.id, key: stored.key }, stored, options);
          break;
        case 'requesting':
          await wait(LOOK_EVERY_MS);
          stored = await store.read(stored.id);
          break;
        case 'pending': {
          if (isTooLong(stored.waitMs)) return none(stored.reason || 'it is not ready yet', true);
          await wait(stored.waitMs);
          const { problem } = await asker.ask(stored, lane, options);
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
          if (isTooLong(waitMs)) return none(opened.reason, true);
          await wait(waitMs);
          // The file may have expired.
          await asker.ask(stored, lane, options);
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
  };
}

/** Why there is no file, for people. */
export function reasonFor({ state, reason, word, id }: StoredRequest): string {
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
