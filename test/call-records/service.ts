import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { createVolley, type Volley } from '../../src/app/runtime.js';
import { loadConfig } from '../../src/base/config/index.js';
import { createEvents, type VolleyEvent } from '../../src/base/events/events.js';
import { type Simulator, type SimulatorOptions, startSimulator } from '../../src/tools/simulator/index.js';
import { at, CONTRACT } from './contract.js';

/** A simulator of call records, and clients of it. */
export interface RecordsSetting {
  readonly simulator: Simulator;
  /** The settings of a client. */
  readonly env: Readonly<Record<string, string>>;
  readonly volley: Volley;
  readonly events: readonly VolleyEvent[];
}

/** Starts a simulator that serves the contract, and a client with one lane. Both end after the file's last test. */
export async function recordsSetting(
  redis: { readonly url: string; readonly prefix: string },
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
  const dir = await mkdtemp(join(tmpdir(), 'volley-records-'));
  const contractFile = join(dir, 'contract.json');
  await writeFile(contractFile, JSON.stringify(at(contract, simulator.accountBaseUrl)));
  const env = {
    REDIS_URL: redis.url,
    REDIS_PREFIX: redis.prefix,
    MESSAGING_BASE_URL: simulator.messagingBaseUrl,
    RECORDS_CONTRACT: contractFile,
    LOG_LEVEL: 'silent',
    ...credentials,
    ...settings,
  };
  const events = createEvents({ level: 'silent' });
  const seen: VolleyEvent[] = [];
  events.onAny((event) => void seen.push(event));
  const volley = createVolley({ config: loadConfig(env), events });
  afterAll(async () => {
    await volley.close();
    await simulator.close();
    await rm(dir, { recursive: true, force: true });
  });
  return { simulator, env, volley, events: seen };
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
