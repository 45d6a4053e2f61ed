import { createHash } from 'node:crypto';
import { type Machine, startStopwatch } from '../base/clock.js';
import type { StatusAsker } from './ask-status.js';
import { later, type NoAnswer } from './contract/answers.js';
import type { OpenFile } from './contract/client.js';
import { parameterValues } from './contract/input.js';
import type { RecordsContext } from './send-request.js';
import type { RecordsLane } from './store/lanes.js';
import type { HeldSlot, RecordsOptions, SlotTaker } from './store/slots.js';
import { hasFile } from './store/states.js';
import { type StoredRequest, viewOf } from './store/store.js';
import type { RecordsRequest } from './store/view.js';

/**
 * A file of call records. The next request of the credential starts only after its body has been read to the end, or was given up:
 * leave the loop, call `return` of its iterator, or abort the signal of the call.
 */
export interface RecordsDownload {
  readonly kind: 'file';
  readonly request: RecordsRequest;
  readonly contentType: string;
  /** Null if the service does not state it. */
  readonly length: number | null;
  /** The data as the service sends it. Throws if it does not arrive complete. */
  readonly body: AsyncIterable<Buffer>;
}

/** Opens downloads. */
export function fileOpener(context: RecordsContext, takeSlot: SlotTaker, { askNow }: StatusAsker) {
  const { store, contract, client, credentials, machine } = context;
  const { timeouts } = contract;
  const leaseMs = 2 * Math.max(timeouts.silence, timeouts.status);
  // A body that is never read must not hold the slot for ever.
  const forMs = timeouts.download + leaseMs;

  /** Opens the download of a file that is ready. `parameters`: those that only the download uses. */
  return async (
    stored: StoredRequest,
    lane: RecordsLane,
    parameters: Readonly<Record<string, string>>,
    options: RecordsOptions,
  ): Promise<RecordsDownload | NoAnswer> => {
    const taken = await takeSlot(credentials.ownerOf(lane), leaseMs, options);
    const { signal, release } = keepSlot(taken, machine, { signal: options.signal, leaseMs, forMs });
    const openNow = async (): Promise<OpenFile | NoAnswer> => {
      let address: string | null = null;
      if (contract.download.address !== null) {
        // Such addresses often expire soon, so each download asks for a new one.
        const asked = await askNow(stored, lane, taken);
        if (asked.problem !== null) return asked.problem;
        if (!hasFile((await store.read(stored.id)).state)) return later('the file is not ready');
        address = asked.address;
      }
      const content = { ...stored, parameters: { ...stored.parameters, ...parameters } };
      const values = { ...parameterValues(content, contract), id: stored.serviceId };
      return credentials.run<OpenFile | NoAnswer>(lane, (sent) =>
        client.download(values, address, sent)({ signal, isLate: taken.isLate }),
      );
    };
    try {
      const file = await openNow();
      if (file.kind === 'file') {
        const body = releasing(recorded(file.body, stored, lane), release);
        return { ...file, request: viewOf(stored, lane.name), body };
      }
      await release();
      return file;
    } catch (error) {
      await release();
      throw error;
    }
  };

  /** The body. Reading it to its end makes the request `downloaded`. */
  async function* recorded(
    body: AsyncIterable<Buffer>,
    stored: StoredRequest,
    lane: RecordsLane,
  ): AsyncGenerator<Buffer, undefined> {
    const digest = createHash('sha256');
    let bytes = 0;
    for await (const chunk of body) {
      digest.update(chunk);
      bytes += chunk.length;
      yield chunk;
    }
    const sha256 = digest.digest('hex');
    await store.settle(stored, ['ready', 'downloaded'], { state: 'downloaded', bytes, sha256 });
    context.events.emit({ type: 'records.downloaded', lane: lane.name, records: stored.id, bytes });
  }
}

/** See {@link fileOpener}. */
export type FileOpener = ReturnType<typeof fileOpener>;

/**
 * Prolongs a slot until it is released, the caller's signal fires, it is lost, or `forMs` are over. The first three abort
 * `signal`, which ends the download.
 */
function keepSlot(
  slot: HeldSlot,
  machine: Machine,
  { signal, leaseMs, forMs }: { signal: AbortSignal | undefined; leaseMs: number; forMs: number },
) {
  const control = new AbortController();
  const age = startStopwatch(machine);
  let cancel = (): void => {};
  let released: Promise<void> | undefined;
  const release = (): Promise<void> => {
    cancel();
    signal?.removeEventListener('abort', end);
    control.abort();
    released ??= slot.release();
    return released;
  };
  const end = (): void => {
    // If Redis does not answer, the slot ends by itself.
    release().catch(() => {});
  };
  const renewLater = (): void => {
    cancel = machine.alarm(leaseMs / 4, () => {
      if (age() > forMs) return;
      slot.renew().then(
        (isHeld) => (isHeld ? renewLater() : end()),
        () => (slot.isLate() ? end() : renewLater()),
      );
    });
  };
  renewLater();
  if (signal?.aborted) end();
  signal?.addEventListener('abort', end, { once: true });
  return { signal: control.signal, release };
}

/** A body that calls `release` when it ends in whichever way, even if it was never read. */
function releasing(
  body: AsyncGenerator<Buffer, undefined>,
  release: () => Promise<void>,
): AsyncIterable<Buffer> & AsyncIterator<Buffer, undefined> {
  return {
    async next() {
      try {
        const result = await body.next();
        if (result.done === true) await release();
        return result;
      } catch (error) {
        await release();
        throw error;
      }
    },
    async return() {
      const [ended] = await Promise.all([body.return(undefined), release()]);
      return ended;
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
