import { expect } from 'vitest';
import type { Volley } from '../../../src/app/volley.js';
import type {
  ConformanceCheck,
  ConformanceOptions,
  ConformanceWay,
} from '../../../src/tools/conformance/report.js';
import type { Simulator, SimulatorOptions } from '../../../src/tools/simulator/index.js';
import { startSimulator } from '../../scene/closing.js';
import { scene } from '../../scene/scene.js';
import { CONFORMANCE_ROWS } from '../../tools/conformance/rows.js';

/** What a test of a service found. */
export interface Found {
  readonly checks: readonly ConformanceCheck[];
  /** Name of the failed check → what is wrong. */
  readonly failed: Readonly<Record<string, string>>;
  readonly skipped: readonly string[];
  readonly ways: Readonly<Record<string, string | null>>;
  /** Topic → the setting that follows. */
  readonly advice: Readonly<Record<string, string | null>>;
  readonly volley: Volley;
}

/** Tests services, each with an installation of its own. Call it at the top level of a test file; `name` is that of its keys. */
export function conformanceTests(name: string) {
  const { lanesFile, open, prefix } = scene(name);
  let installations = 0;

  return async (
    env: Readonly<Record<string, string>>,
    options: ConformanceOptions,
    lanes: readonly object[] = [],
  ): Promise<Found> => {
    installations += 1;
    const volley = open({
      REDIS_PREFIX: `${prefix}-${installations}`,
      ...(lanes.length > 0 && { LANES_FILE: lanesFile(lanes) }),
      ...env,
    });
    const checks: ConformanceCheck[] = [];
    const ways: ConformanceWay[] = [];
    for await (const result of volley.conformance(options))
      if (result.kind === 'check') checks.push(result);
      else ways.push(result);
    // What is not in the tables cannot be compared with test/interface/README.md.
    const tabled = CONFORMANCE_ROWS.map((row) => row.name);
    expect(tabled).toEqual(expect.arrayContaining(checks.map((check) => check.name)));
    const failed = checks.filter(({ result }) => result === 'failed');
    return {
      checks,
      failed: Object.fromEntries(failed.map(({ name, found }) => [name, found])),
      skipped: checks.filter(({ result }) => result === 'skipped').map(({ name }) => name),
      ways: Object.fromEntries(ways.map(({ topic, found }) => [topic, found])),
      advice: Object.fromEntries(ways.map(({ topic, advice }) => [topic, advice])),
      volley,
    };
  };
}

export const TO = '+4791000001';
export const SENDER = 'tel:+4790000001';
export const HOOK = 'https://hook.example/notifications';

/** Everything that a test can do. */
export const ALL: ConformanceOptions = { send: { to: TO, sender: SENDER }, subscribe: { url: HOOK } };

export const ACCOUNT = { ACCOUNT_USERNAME: 'ann', ACCOUNT_PASSWORD: 'secret' };

/** Tests services at their addresses, and simulators. Call it at the top level of a test file; `name` is that of its keys. */
export function servicesTested(name: string) {
  const run = conformanceTests(name);
  const tested = (
    service: { readonly messagingBaseUrl: string; readonly accountBaseUrl: string },
    env: Readonly<Record<string, string>>,
    options: ConformanceOptions = ALL,
    lanes?: readonly object[],
  ): Promise<Found> => {
    const { messagingBaseUrl, accountBaseUrl } = service;
    const addresses = { MESSAGING_BASE_URL: messagingBaseUrl, ACCOUNT_BASE_URL: accountBaseUrl };
    return run({ ...addresses, ...env }, options, lanes);
  };
  return {
    tested,
    async simulated(
      simulatorOptions: SimulatorOptions,
      env: Readonly<Record<string, string>> = { API_KEY: 'k' },
      options?: ConformanceOptions,
      lanes?: readonly object[],
    ): Promise<Found & { simulator: Simulator }> {
      const keys = [{ key: 'k' }, { key: 'other' }];
      const simulator = await startSimulator({ keys, ...simulatorOptions });
      return { ...(await tested(simulator, env, options, lanes)), simulator };
    },
  };
}
