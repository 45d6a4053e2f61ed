import { mkdtempSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  readSimulatorFile,
  removeSimulatorFile,
  simulatedConfig,
  simulatorLanes,
  writeSimulatorFile,
} from '../../src/cli/simulator-file.js';

const address = {
  messagingBaseUrl: 'http://127.0.0.1:1/smsmessaging/v1',
  accountBaseUrl: 'http://127.0.0.1:1',
};

describe('The file of the simulator beside an embedded Redis', () => {
  const dir = mkdtempSync(join(tmpdir(), 'volley-simulator-'));
  const running = { ...address, pid: 1, redisPid: 77 };

  test('counts only while that Redis process runs', async () => {
    expect(await readSimulatorFile({ dir, pid: 77 })).toBeUndefined();
    await writeSimulatorFile(dir, running);
    expect(await readSimulatorFile({ dir, pid: 77 })).toEqual(running);
    expect(await readSimulatorFile({ dir, pid: 78 })).toBeUndefined();
    expect(statSync(join(dir, 'simulator.json')).mode & 0o077).toBe(0);
    await removeSimulatorFile(dir);
    expect(await readSimulatorFile({ dir, pid: 77 })).toBeUndefined();
  });

  test('does not count if it is damaged', async () => {
    writeFileSync(join(dir, 'simulator.json'), '{"messagingBaseUrl":');
    expect(await readSimulatorFile({ dir, pid: 77 })).toBeUndefined();
  });
});

describe('The configuration for a simulator', () => {
  const env = { API_KEY: 'the-real-key', HOURLY_QUOTA: '50', MESSAGING_BASE_URL: 'https://real.example' };
  const config = simulatedConfig(env, address, 'redis://127.0.0.1:9');

  test('has no real address and no real credentials', () => {
    expect(JSON.stringify(config)).not.toMatch(/real/);
    expect(config.messagingBaseUrl).toBe(address.messagingBaseUrl);
  });

  test('keeps simulated campaigns apart from real ones', () =>
    expect(config.redisPrefix).toBe('volley-simulator'));

  test('keeps accounts, so that logins and refreshes happen', () => {
    const account = simulatedConfig(
      { ACCOUNT_USERNAME: 'real-user', ACCOUNT_PASSWORD: 'real-password' },
      address,
      'redis://127.0.0.1:9',
    );
    expect(JSON.stringify(account)).not.toMatch(/real/);
    expect(simulatorLanes(account)).toEqual({
      keys: [{ account: 'simulator-default', quota: null, windowMs: 3_600_000 }],
      accounts: [{ username: 'simulator-default', password: 'simulator' }],
    });
  });

  test('gives the simulator the quota of each lane', () => {
    expect(simulatorLanes(config)).toEqual({
      keys: [{ key: 'simulator-default', quota: 50, windowMs: 3_600_000 }],
      accounts: [],
    });
  });

  test('refuses a simulator on another machine', () => {
    expect(() => simulatedConfig(env, { ...address, messagingBaseUrl: 'https://real.example' }, '')).toThrow(
      /on this machine/,
    );
  });
});
