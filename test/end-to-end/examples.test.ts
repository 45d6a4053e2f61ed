import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { testRedis } from '../redis/test-redis.js';
import { startSimulatorProcess } from './simulator-process.js';

const { url, prefix } = testRedis('examples');
const { PATH = '', HOME = '' } = process.env;

async function startService(options: Parameters<typeof startSimulatorProcess>[0] = {}) {
  const simulator = await startSimulatorProcess({ keys: [{ key: 'k' }], deliveryTime: 20, ...options });
  onTestFinished(() => simulator.stop());
  return simulator;
}

const settingsFor = (name: string, messagingBaseUrl: string) => ({
  REDIS_URL: url,
  REDIS_PREFIX: `${prefix}-${name}`,
  MESSAGING_BASE_URL: messagingBaseUrl,
  API_KEY: 'k',
  FOLLOW_UP_FIRST_MS: '200',
  LOG_LEVEL: 'silent',
});

test('examples/library reminds of appointments, once, and says who is to be called', {
  timeout: 60_000,
}, async () => {
  const simulator = await startService();
  const remind = async (): Promise<string[]> => {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['examples/library/reminders.js', '2030-05-01'],
      { env: { PATH, HOME, ...settingsFor('library', simulator.messagingBaseUrl) }, timeout: 25_000 },
    );
    return stdout.trim().split('\n');
  };
  const told = await remind();
  expect(told[0]).toMatch(/^line 3 is left out: /);
  expect(told.slice(1)).toEqual([
    'reminders 2030-05-01: 3 of 4 delivered',
    'call +4795550103: DeliveryImpossible',
  ]);
  expect((await remind()).slice(1)).toEqual(told.slice(1));
  expect((await simulator.summary()).recipients).toBe(4);
});
