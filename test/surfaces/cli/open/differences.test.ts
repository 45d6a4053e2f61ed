import { expect, test, vi } from 'vitest';
import { SOON } from '../../../base/soon.js';
import { scene } from '../../../scene/scene.js';

const { open, shell, startSimulator } = scene('cli-differences', {
  list: 'phone\n+447700900101\n',
  settings: { REDIS_MAY_LOSE: '0s', SENDER_ADDRESS: 'ACME' },
});
const { settings: service } = await startSimulator({ keys: [{ key: 'the-right-key' }], deliveryTime: 20 });
const worker = open({ ...service, API_KEY: 'a-wrong-key', FOLLOW_UP_FIRST_MS: '100' });
const corrected = shell({ ...service, API_KEY: 'the-right-key' });
const unaware = shell(service);

test('After a corrected key, the commands say which worker still has another one, until it restarts', async () => {
  await worker.work().ready;
  await corrected.volley('send', 'list.csv', '--message', 'Hi', '--yes');
  const shown = await vi.waitUntil(
    async () => {
      const { stdout } = await corrected.volley('status');
      return stdout.includes('stopped') ? stdout : undefined;
    },
    { ...SOON, interval: 200 },
  );
  expect(shown.replace(/\s+/g, ' ')).toContain('correct it and restart the workers');
  const differs = new RegExp(
    `Worker \\S+ ${process.pid} has another value of API_KEY for lane default than the settings of this process\\. If these settings are right, restart`,
  );
  expect(shown).toMatch(differs);
  expect((await corrected.volley('lanes')).stdout).toMatch(differs);
  const doctor = await corrected.volley('doctor');
  expect(doctor.stdout).toMatch(/settings of lane default.*worker \S+ \d+ has another value of API_KEY/);
  const resumed = await corrected.volley('lane', 'resume', 'default');
  expect(resumed.stdout).toMatch(differs);
  // A command without the credentials has nothing to compare them with.
  expect((await unaware.volley('lanes')).stdout).not.toContain('API_KEY for');
  for (const { stdout } of [doctor, resumed]) expect(stdout).not.toMatch(/the-right-key|a-wrong-key/);
});
