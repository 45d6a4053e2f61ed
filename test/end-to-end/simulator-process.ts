import type { InboundText } from '../../src/tools/simulator/messages/inbound.js';
import type { SimulatorOptions } from '../../src/tools/simulator/rules/options.js';
import type { Arrival } from '../../src/tools/simulator/state/arrivals.js';
import type { LedgerEntry } from '../../src/tools/simulator/state/ledger.js';
import type { Summary } from '../../src/tools/simulator/summary.js';
import { startProgram } from './program.js';

/** The simulator in a process of its own, queried over HTTP. */
export interface SimulatorProcess {
  readonly pid: number;
  readonly messagingBaseUrl: string;
  readonly accountBaseUrl: string;
  /** The addresses of version 3. */
  readonly v3: { readonly messagingBaseUrl: string; readonly tokenUrl: string };
  /** The accepted send requests, oldest first. */
  ledger(): Promise<LedgerEntry[]>;
  /** Every request to the messaging interface, oldest first. */
  arrivals(): Promise<Arrival[]>;
  summary(): Promise<Summary>;
  configure(change: SimulatorOptions): Promise<void>;
  /** Sends a message of a person to every inbound subscription. */
  inbound(message: InboundText): Promise<void>;
  stop(): Promise<void>;
}

export async function startSimulatorProcess(
  options: SimulatorOptions,
  environment: Readonly<Record<string, string>> = {},
): Promise<SimulatorProcess> {
  const parameters = ['--options', JSON.stringify(options)];
  const program = startProgram('src/tools/simulator/main.js', environment, parameters);
  const { messagingBaseUrl, accountBaseUrl, v3 } = JSON.parse(await program.firstLine) as Pick<
    SimulatorProcess,
    'messagingBaseUrl' | 'accountBaseUrl' | 'v3'
  >;
  const ask = async (path: string, request: RequestInit = {}): Promise<string> => {
    const response = await fetch(`${accountBaseUrl}/_simulator/${path}`, request);
    const text = await response.text();
    if (!response.ok) throw new Error(`the simulator answered ${path} with ${response.status}: ${text}`);
    return text;
  };
  const lines = async <Line>(path: string): Promise<Line[]> =>
    (await ask(path))
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Line);
  return {
    pid: program.pid,
    messagingBaseUrl,
    accountBaseUrl,
    v3,
    ledger: () => lines<LedgerEntry>('ledger'),
    arrivals: () => lines<Arrival>('arrivals'),
    summary: async () => JSON.parse(await ask('summary')) as Summary,
    configure: async (change) => {
      await ask('configure', { method: 'POST', body: JSON.stringify(change) });
    },
    inbound: async (message) => {
      await ask('inbound', { method: 'POST', body: JSON.stringify(message) });
    },
    stop: async () => {
      await program.end('SIGKILL');
    },
  };
}
