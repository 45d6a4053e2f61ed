import { expect, test } from 'vitest';
import { scene } from '../../../scene/scene.js';

const { shell } = scene('cli-outbox-zones');
const { volley, json } = shell({ API_KEY: 'k', SENDER_ADDRESS: 'ACME' }, process.cwd());

test('An outbox has the hours of its messages own zones, from --zone', async () => {
  const create = ['outbox', 'create', 'codes', '--message', 'Hi', '--late', '24h', '--zone', 'Europe/London'];
  const created = await volley(...create, '--window', 'Mon-Sun 09:00-20:00', '--window-zone', 'recipient');
  expect(created.stdout).toContain('Outbox codes is ready');
  expect((await volley('outbox', 'show', 'codes')).stdout).toContain(
    "Mon-Sun 09:00-20:00 in each recipient's zone",
  );
  const put = (...more: string[]) => volley('outbox', 'put', 'codes', 'a', '+447700900123', ...more);
  expect((await put()).stderr).toContain('--zone is empty');
  expect((await put('--set', 'zone=UTC')).stderr).toContain('Use --zone');
  await put('--zone', 'America/Denver', '--send-at', '2030-05-01T08:00');
  expect(await json('outbox', 'message', 'codes', 'a')).toMatchObject({
    output: { zone: 'America/Denver', sendAt: '2030-05-01T14:00:00.000Z' },
  });
});
