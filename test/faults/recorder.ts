import { setTimeout as delay } from 'node:timers/promises';
import type { CampaignStatus } from '../../src/campaign/views.js';
import type { Volley } from '../../src/runtime.js';
import type { SimulatorProcess } from '../end-to-end/simulator-process.js';
import type { EventOf, History } from './history.js';

const EVERY_MS = 100;

/** Writes down what Volley and the service say. */
export interface Recorder {
  readonly history: History;
  /** From now on the campaign's status is asked for all the time. */
  watch(campaign: string): void;
  /** The status, written down; undefined where Redis could not be asked. */
  status(campaign: string): Promise<CampaignStatus | undefined>;
  /** Runs a fault and writes down when it was, whatever comes of it. */
  fault(of: Omit<EventOf<'fault'>, 'is' | 'at' | 'until'>, run: () => Promise<unknown>): Promise<void>;
  /** Gives a command and writes down what it returned. Rejects as the command does. */
  command<Answer>(
    campaign: string,
    command: EventOf<'command'>['command'],
    run: () => Promise<Answer>,
  ): Promise<Answer>;
  /** Every row of the campaign's report as it stands. */
  report(campaign: string): Promise<void>;
  /** Every request the service has received. Call it once, at the end. */
  requests(simulator: SimulatorProcess): Promise<void>;
  /** Watches no more; resolves with how many statuses it was told. */
  stop(): Promise<number>;
}

export function createRecorder(history: History, volley: Volley): Recorder {
  const { clock } = history;
  const watched: string[] = [];
  let [reports, statuses, isStopped] = [0, 0, false];

  const status = async (campaign: string): Promise<CampaignStatus | undefined> => {
    const at = clock();
    const told = await volley.status(campaign).catch(() => undefined);
    if (told === undefined) return undefined;
    statuses += 1;
    const { state, endedAt, waitingFor, recipients: counts } = told;
    history.add({
      is: 'status',
      at,
      until: clock(),
      campaign,
      state,
      ended: endedAt !== null,
      waitingFor,
      counts,
    });
    return told;
  };
  // One after the other, so that the order in which they are written down is the order in which they were told.
  const watching = (async () => {
    while (!isStopped) {
      for (const campaign of [...watched]) {
        const told = await status(campaign);
        if (told !== undefined && told.endedAt !== null) watched.splice(watched.indexOf(campaign), 1);
      }
      await delay(EVERY_MS);
    }
  })();

  return {
    history,
    watch: (campaign) => void watched.push(campaign),
    status,
    async fault(of, run) {
      const at = clock();
      try {
        await run();
      } finally {
        history.add({ is: 'fault', at, until: clock(), ...of });
      }
    },
    async command(campaign, command, run) {
      const at = clock();
      const told = (inFlight: number, error: string | null): void =>
        history.add({ is: 'command', at, until: clock(), campaign, command, inFlight, error });
      try {
        const answer = await run();
        told(inFlightOf(answer), null);
        return answer;
      } catch (error) {
        told(0, error instanceof Error ? error.message : String(error));
        throw error;
      }
    },
    async report(campaign) {
      reports += 1;
      const report = reports;
      for await (const { recipient, status: word } of volley.report(campaign)) {
        history.add({ is: 'row', at: clock(), report, campaign, recipient, status: word });
      }
    },
    async requests(simulator) {
      const [arrivals, ledger] = [await simulator.arrivals(), await simulator.ledger()];
      let accepted = 0;
      for (const { at, key, kind, outcome, text = '', recipients = [], requestId = '' } of arrivals) {
        if (kind !== 'send' && kind !== 'poll') continue;
        const request = { is: 'request', at, key, kind, outcome } as const;
        if (outcome !== 'accepted') {
          history.add({ ...request, text, recipients, requestId, finals: [] });
          continue;
        }
        // The ledger has what was accepted, in the order in which it arrived.
        const entry = ledger[accepted++];
        if (entry === undefined) throw new Error('the ledger is shorter than what was accepted');
        history.add({
          ...request,
          text: entry.text,
          recipients: entry.recipients,
          requestId: entry.requestId,
          finals: entry.finals,
        });
      }
    },
    async stop() {
      isStopped = true;
      await watching;
      return statuses;
    },
  };
}

function inFlightOf(answer: unknown): number {
  if (typeof answer !== 'object' || answer === null || !('inFlight' in answer)) return 0;
  return typeof answer.inFlight === 'number' ? answer.inFlight : 0;
}
