import type { Volley } from '../../src/app/volley.js';
import type { VolleyEvent } from '../../src/base/events/events.js';
import type { Simulator, SimulatorOptions } from '../../src/tools/simulator/index.js';
import type { Scene } from '../scene/scene.js';
import { at, CONTRACT } from './contract/contract.js';

/** A simulator of call records, and clients of it. */
export interface RecordsSetting {
  readonly simulator: Simulator;
  /** The settings of a client. */
  readonly env: Readonly<Record<string, string>>;
  readonly volley: Volley;
  readonly events: readonly VolleyEvent[];
}

let contracts = 0;

/** Starts a simulator that serves the contract, and a client with one lane, in a scene or, by its prefix, beside it. */
export async function recordsSetting(
  { open, prefix, settings: base, startSimulator, write }: Scene,
  {
    contract = CONTRACT,
    credentials = { API_KEY: 'k' },
    simulator: options = {},
    settings = {},
  }: {
    contract?: { baseUrl: string; client?: { tokenUrl: string } | null };
    credentials?: Readonly<Record<string, string>>;
    simulator?: SimulatorOptions;
    settings?: Readonly<Record<string, string>>;
  } = {},
): Promise<RecordsSetting> {
  const { records, ...others } = options;
  const simulator = await startSimulator({
    keys: [{ key: 'k' }],
    accounts: [{ username: 'u', password: 'p' }],
    ...others,
    records: { pending: 50, ...records, contract: JSON.parse(JSON.stringify(contract)) },
  });
  contracts += 1;
  const env = {
    ...base,
    REDIS_PREFIX: prefix,
    MESSAGING_BASE_URL: simulator.messagingBaseUrl,
    RECORDS_CONTRACT: write(`contract-${contracts}.json`, at(contract, simulator.accountBaseUrl)),
    ...credentials,
    ...settings,
  };
  const events: VolleyEvent[] = [];
  return { simulator, env, volley: open(env, { seen: events }), events };
}

/** A request for one day in January, for one number. */
export const january = (day: number, number = '+3200') => {
  const date = `2026-01-${String(day).padStart(2, '0')}`;
  return { from: date, to: date, parameters: { product: 'voice', format: 'csv', number } };
};

/** Reads a file to its end. */
export async function contentOf(body: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks);
}
