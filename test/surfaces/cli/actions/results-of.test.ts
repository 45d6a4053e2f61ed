import { expect, test } from 'vitest';
import { scene } from '../../../scene/scene.js';

const { shell, write } = scene('cli-results-of');
const { volley, json } = shell({
  SENDER_ADDRESS: 'ACME',
  MESSAGING_BASE_URL: 'https://sms.example/smsmessaging/v1',
});
const file = write('spring.csv', 'phone,name\n+447700900123,Ada\n+447700900124,Bo\n');

test('A cancelled campaign is sent to again by its name, with the columns that its text used', async () => {
  await volley('send', file, '--message', 'Hi {{name}}', '--yes');
  await volley('cancel', 'spring', '--yes');
  const text = ['--message', 'Sorry {{name}} ({{phone}})'];
  const results = ['--to-results-of', 'spring', '--status', 'cancelled,failed'];
  const preview = await volley('preview', ...results, ...text);
  expect(preview.stdout).toContain('Sorry Ada (+447700900123)');
  const { exit, output } = await json('send', ...results, ...text, '--yes');
  expect([exit, output]).toMatchObject([0, { recipientCount: 2 }]);
});

test('A follow-up keeps the numbers and the zones of its campaign, also those that it has found by numbers', async () => {
  const zoned = ['--window', 'Mon-Sun 00:00-24:00', '--window-zone', 'recipient'];
  const text = ['--message', 'Hello {{name}}', '--yes'];
  const refusal = async (...args: readonly string[]) => {
    const { exit, stderr } = await volley('send', file, ...text, ...args);
    return [exit, stderr.replaceAll(/\s+/g, ' ').trim()];
  };
  expect(await refusal(...zoned)).toEqual([
    2,
    'volley: The window is in the zone of each recipient, but the list has no column "zone". Name another one in --zone-column, or use --zone-from number.',
  ]);
  expect(await refusal('--zone-column', 'tz')).toEqual([
    2,
    "volley: --zone-column needs hours of the recipients' zones: use --window-zone recipient.",
  ]);
  await volley('send', file, ...text, ...zoned, '--zone-from', 'number', '--name', 'zoned');
  await volley('cancel', 'zoned', '--yes');
  const results = ['--to-results-of', 'zoned', '--status', 'cancelled', ...text, ...zoned];
  for (const [flag, what] of [
    ['--zone-column', 'zones'],
    ['--to-column', 'numbers'],
  ] as const) {
    const { stderr } = await volley('send', ...results, flag, 'tz');
    expect(stderr.replaceAll(/\s+/g, ' ').trim()).toBe(
      `volley: A follow-up keeps the ${what} of the earlier campaign: leave out ${flag}.`,
    );
  }
  const { exit, output } = await json('send', ...results);
  expect([exit, output]).toMatchObject([0, { recipientCount: 2, invalid: 0 }]);
});
