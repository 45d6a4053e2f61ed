import { expect, test } from 'vitest';
import { scene } from '../../scene/scene.js';

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

test('A command needs a file or a campaign with states, and says which', async () => {
  const text = ['--message', 'Hi'];
  const results = ['--to-results-of', 'last', '--status', 'cancelled'];
  const cases = [
    [['send', ...text], 'The argument <file> is missing.'],
    [['preview', file, ...results, ...text], 'a campaign has one list'],
    [['send', ...results.slice(0, 2), ...text], "--to-results-of <campaign>' needs '--status <states>'"],
    [['send', file, ...results.slice(2), ...text], "--status <states>' needs '--to-results-of <campaign>'"],
    [['send', ...results.slice(0, 2), '--status', 'planned', ...text], 'planned is no final state'],
    [['send', ...results, '--test-to', '+447700900123', ...text], '--test-to and --to-results-of do not go'],
  ] as const;
  for (const [args, reason] of cases) {
    const { exit, stderr } = await volley(...args, ...(args[0] === 'send' ? ['--yes'] : []));
    expect([exit, stderr.replace(/\s+/g, ' ')]).toEqual([2, expect.stringContaining(reason)]);
  }
});
