/** The simulator in a process of its own, with the witness in it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { SimulatorOptions } from '../../src/tools/simulator/rules/options.js';
import type { Arrival } from '../../src/tools/simulator/state/arrivals.js';
import type { LedgerEntry } from '../../src/tools/simulator/state/ledger.js';
import type { ServiceLogs } from './record.js';
import type { Scenario } from './scenario.js';
import type { Sighting } from './witness.js';

const WITNESS = fileURLToPath(new URL('witness.js', import.meta.url));

export interface ServiceProcess {
  readonly baseUrl: string;
  /** Its logs, by API key. */
  logs(keys: readonly string[]): Promise<Map<string, ServiceLogs>>;
  stop(): Promise<void>;
}

/** Starts the simulator with a key and a quota for each contestant. */
export async function startService(
  scenario: Scenario,
  keys: readonly string[],
  seen: (sighting: Sighting) => void,
): Promise<ServiceProcess> {
  const { quota, windowMs, model, latencyMs, arrivalMs, deliveryMs } = scenario;
  const options: SimulatorOptions = {
    keys: keys.map((key) => ({ key, quota, model, windowMs })),
    latency: { kind: 'uniform', minMs: latencyMs[0], maxMs: latencyMs[1] },
    arrivalDelay: { kind: 'uniform', minMs: arrivalMs[0], maxMs: arrivalMs[1] },
    deliveryTime: deliveryMs,
    quotaRetryAfter: 'seconds',
    magicRecipients: 'off',
    wholeArrivals: true,
  };
  const program = resolve('dist/src/tools/simulator/main.js');
  const child = spawn(
    process.execPath,
    ['--import', WITNESS, program, '--options', JSON.stringify(options)],
    { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] },
  );
  child.on('message', (message) => seen(message as Sighting));
  if (child.stdout === null) throw new Error('the simulator has no standard output');
  const [line] = await once(createInterface({ input: child.stdout }), 'line');
  const { messagingBaseUrl: baseUrl } = JSON.parse(String(line)) as { messagingBaseUrl: string };
  const lines = async <Line>(path: string): Promise<Line[]> => {
    const text = await (await fetch(`${new URL(baseUrl).origin}/_simulator/${path}`)).text();
    return text
      .split('\n')
      .filter((one) => one !== '')
      .map((one) => JSON.parse(one) as Line);
  };
  return {
    baseUrl,
    async logs(of) {
      const [arrivals, ledger] = [await lines<Arrival>('arrivals'), await lines<LedgerEntry>('ledger')];
      const own = <Entry extends { key: string }>(entries: Entry[], key: string): Entry[] =>
        entries.filter((entry) => entry.key === key);
      return new Map(of.map((key) => [key, { arrivals: own(arrivals, key), ledger: own(ledger, key) }]));
    },
    async stop() {
      const exit = once(child, 'exit');
      child.kill('SIGKILL');
      await exit;
    },
  };
}
