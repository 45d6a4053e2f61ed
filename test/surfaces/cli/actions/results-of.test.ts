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
