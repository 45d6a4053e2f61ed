import { expect, test } from 'vitest';
import { resolveLocal } from '../../../../src/campaign/time/zone.js';
import { scene } from '../../../scene/scene.js';

const { shell, write } = scene('cli-start-time', {
  settings: { API_KEY: 'the-key', SENDER_ADDRESS: '+447400100100', MAX_SCHEDULE_AHEAD: '600d' },
});
const { volley, json } = shell();
const inTokyo = shell({ SEND_WINDOW: 'Mon-Sun 00:00-24:00', SEND_WINDOW_ZONE: 'Asia/Tokyo' });
write('list.csv', 'to\n+447700900123\n');
const PARIS = 'Europe/Paris';
const soon = `${new Date(Date.now() + 7 * 86_400_000).toISOString().slice(0, 10)}T09:00`;
const send = (...args: readonly string[]) => ['send', 'list.csv', '-m', 'Hi', '--yes', '--again', ...args];
const inParis = (iso: string): string => new Date(resolveLocal(PARIS, Date.parse(`${iso}Z`))).toISOString();

test('--at is a local time of --zone, and every text shows it in that zone', async () => {
  const sent = await volley(...send('--at', soon, '--zone', PARIS));
  expect([sent.exit, sent.stdout]).toEqual([0, expect.stringMatching(/, starting \w+ .* 09:00 CES?T \(in /)]);
  const { output } = await json('status', 'last');
  expect(output).toMatchObject({ sendAt: inParis(soon), zone: PARIS });
  expect((await volley('status', 'last')).stdout).toMatch(/Scheduled; starts \w+ .* 09:00 CES?T \(in /);
  expect((await volley('list')).stdout).toMatch(/ 09:00 CES?T$/m);
  const seen = await volley('preview', 'list.csv', '-m', 'Hi', '--at', soon, '--zone', PARIS);
  expect(seen.stdout).toMatch(/^start +\w+ .* 09:00 CES?T \(in /m);
});

test("Without --zone, local times are those of the lane's window", async () => {
  const preview = ['preview', 'list.csv', '-m', 'Hi'];
  const { output } = await inTokyo.json(...preview, '--at', soon);
  expect(output).toMatchObject({ sendAt: new Date(`${soon}+09:00`).toISOString(), zone: 'Asia/Tokyo' });
  const { stdout } = await inTokyo.volley(...preview, '--at', 'tomorrow 9:00');
  expect(stdout).toMatch(/^start +\w+ .* 09:00 GMT\+9 \(in /m);
});
