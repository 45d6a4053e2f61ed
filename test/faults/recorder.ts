import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import pLimit from 'p-limit';
import { z } from 'zod';
import type { Volley } from '../../src/app/runtime.js';
import type { CampaignInput } from '../../src/intake/import/campaign-input.js';
import type { SimulatorProcess } from '../end-to-end/simulator-process.js';
import type { EventOf, History } from './history.js';
import { readReport, readStatus, type SourceStatus } from './source.js';

const EVERY_MS = 100;

/** A line of `record-writes.mjs`. */
const WRITE = z.tuple([z.number(), z.number(), z.string(), z.array(z.string())]);

/** A log entry `request.unknown`. */
const UNKNOWN = z.object({ time: z.string(), request: z.string(), reason: z.string() });

/** Records what Volley and the service report. */
export interface Recorder {
  readonly history: History;
  /** The campaigns and outboxes whose status is recorded. */
  readonly watched: readonly string[];
  /** Starts to record the status of a campaign, or of an outbox (see {@link OUTBOX}), every 100 ms. */
  watch(campaign: string): void;
  /** Records a campaign that has been launched, and watches it. */
  launched(of: Omit<EventOf<'campaign'>, 'type' | 'at'>): void;
  /** Imports and launches a campaign, records it, and watches it. Returns its id. `key`: that of its lane. */
  launch(
    input: CampaignInput & {
      readonly recipients: readonly { readonly to: string }[];
      readonly message: string;
    },
    key: string,
  ): Promise<string>;
  /** Records what may be sent of an outbox, which it watches: see the event `outbox`. */
  answered(campaign: string, key: string, texts: EventOf<'outbox'>['texts']): void;
  /** Records and returns the status; undefined when Redis does not answer. */
  status(campaign: string): Promise<SourceStatus | undefined>;
  /** Runs a fault and records its start and end, even if it throws. */
  fault(of: Omit<EventOf<'fault'>, 'type' | 'at' | 'until'>, run: () => Promise<unknown>): Promise<void>;
  /** Runs a command and records its result. Rejects as the command does. */
  command<Answer>(
    campaign: string,
    command: EventOf<'command'>['command'],
    run: () => Promise<Answer>,
  ): Promise<Answer>;
  /** Records every row of the campaign's report. */
  report(campaign: string): Promise<void>;
  /** Records every request that the service has received. Call it once, at the end. */
  requests(simulator: SimulatorProcess): Promise<void>;
  /** Records every send that a process wrote, from the file of `record-writes.mjs`. `by`: the process. Call it once, at the end. */
  writes(file: string, by: string): Promise<void>;
  /** Records why outcomes are unknown, from the log entries `request.unknown` of the processes. Call it once, at the end. */
  unknowns(entries: readonly Record<string, unknown>[]): void;
  /** Stops watching; resolves with the number of recorded statuses. */
  stop(): Promise<number>;
}

export function createRecorder(history: History, volley: Volley): Recorder {
  const { clock } = history;
  const watched: string[] = [];
  const ended = new Set<string>();
  let [reports, statuses, isStopped] = [0, 0, false];

  // One at a time, so that the statuses are recorded in the order in which they were read.
  const inTurn = pLimit(1);
  const status = (campaign: string): Promise<SourceStatus | undefined> => inTurn(read, campaign);
  const read = async (campaign: string): Promise<SourceStatus | undefined> => {
    const at = clock();
    const current = await readStatus(volley, campaign).catch(() => undefined);
    if (current === undefined) return undefined;
    statuses += 1;
    const { state, endedAt, waitingFor, counts } = current;
    history.add({
      type: 'status',
      at,
      until: clock(),
      campaign,
      state,
      ended: endedAt !== null,
      waitingFor,
      counts,
    });
    return current;
  };
  const watching = (async () => {
    while (!isStopped) {
      for (const campaign of watched.filter((one) => !ended.has(one))) {
        const current = await status(campaign);
        if (current !== undefined && current.endedAt !== null) ended.add(campaign);
      }
      await delay(EVERY_MS);
    }
  })();

  const watch = (campaign: string): void => void watched.push(campaign);
  const launched: Recorder['launched'] = (of) => {
    history.add({ type: 'campaign', at: clock(), ...of });
    watch(of.campaign);
  };

  return {
    history,
    watched,
    watch,
    launched,
    async launch(input, key) {
      const outcome = await volley.enqueue(input);
      if (outcome.outcome === 'refused') throw new Error(`the import was refused: ${outcome.code}`);
      const { id: campaign } = outcome;
      launched({ campaign, key, text: input.message, recipients: input.recipients.map(({ to }) => to) });
      return campaign;
    },
    answered(campaign, key, texts) {
      history.add({ type: 'outbox', at: clock(), campaign, key, texts });
    },
    status,
    async fault(of, run) {
      const at = clock();
      try {
        await run();
      } finally {
        history.add({ type: 'fault', at, until: clock(), ...of });
      }
    },
    async command(campaign, command, run) {
      const at = clock();
      const record = (inFlight: number, error: string | null): void =>
        history.add({ type: 'command', at, until: clock(), campaign, command, inFlight, error });
      try {
        const answer = await run();
        record(inFlightOf(answer), null);
        return answer;
      } catch (error) {
        record(0, error instanceof Error ? error.message : String(error));
        throw error;
      }
    },
    async report(campaign) {
      reports += 1;
      const report = reports;
      for await (const { recipient, status: recipientStatus, requestId } of readReport(volley, campaign)) {
        const row = {
          type: 'row',
          at: clock(),
          report,
          campaign,
          recipient,
          status: recipientStatus,
        } as const;
        history.add(
          recipientStatus === 'unknown' && requestId !== null ? { ...row, request: requestId } : row,
        );
      }
    },
    async requests(simulator) {
      const [arrivals, ledger] = [await simulator.arrivals(), await simulator.ledger()];
      let accepted = 0;
      for (const { at, key, kind, outcome, text = '', recipients = [], requestId = '' } of arrivals) {
        if (kind !== 'send' && kind !== 'poll') continue;
        const request = { type: 'request', at, key, kind, outcome } as const;
        if (outcome !== 'accepted') {
          history.add({ ...request, text, recipients, requestId, finals: [] });
          continue;
        }
        // The ledger holds the accepted requests in the order of their arrival.
        const entry = ledger[accepted++];
        if (entry === undefined)
          throw new Error('the ledger has fewer entries than there were accepted requests');
        history.add({
          ...request,
          text: entry.text,
          recipients: entry.recipients,
          requestId: entry.requestId,
          finals: entry.finals,
        });
      }
    },
    async writes(file, by) {
      const lines = (await readFile(file, 'utf8')).split('\n').filter((line) => line !== '');
      for (const line of lines) {
        const [from, until, text, recipients] = WRITE.parse(JSON.parse(line));
        history.add({ type: 'write', at: from, until, by, text, recipients });
      }
    },
    unknowns(entries) {
      for (const entry of entries) {
        const { time, request, reason } = UNKNOWN.parse(entry);
        history.add({ type: 'unknown', at: Date.parse(time), request, cause: causeOf(reason) });
      }
    },
    async stop() {
      isStopped = true;
      await watching;
      return statuses;
    },
  };
}

function causeOf(reason: string): EventOf<'unknown'>['cause'] {
  if (/was (reset|closed)|\(ECONNRESET\)|\(EPIPE\)/.test(reason)) return 'cut';
  return reason.startsWith('no response within') ? 'timeout' : 'other';
}

function inFlightOf(answer: unknown): number {
  if (typeof answer !== 'object' || answer === null || !('inFlight' in answer)) return 0;
  return typeof answer.inFlight === 'number' ? answer.inFlight : 0;
}
