import { expect, test } from 'vitest';
import { scene } from '../../../scene/scene.js';
import { onTerminal } from '../on-terminal.js';

const {
  shell,
  folder: cwd,
  write,
  settings: env,
} = scene('cli-sent-before', {
  settings: { SENDER_ADDRESS: 'ACME', MESSAGING_BASE_URL: 'https://sms.example/smsmessaging/v1' },
});
const { volley, json } = shell();
const numbers = [101, 102, 103].map((end) => `+447700900${end}`);
const list = (file: string, rows: readonly string[]): string => write(file, `phone\n${rows.join('\n')}\n`);
/** What people read, without the line breaks of the terminal. */
const flowing = (text: string): string => text.replace(/\s+/g, ' ');

test('A corrected list that is sent again names who gets the text twice, and how to leave them out', async () => {
  const text = ['--message', 'Sale!'];
  const bad = list('spring.csv', [...numbers.slice(0, 2), 'no number']);
  const { output } = await json('send', bad, ...text, '--skip-invalid', '--yes');
  const { id } = output as { id: string };
  expect(output).toMatchObject({ sentBefore: { recipientCount: 0, campaigns: [] } });

  const corrected = list('spring.csv', numbers);
  const warning = `2 of 3 recipients already get this text from campaign ${id} (spring). To leave them out, add --only-new. If you have corrected its invalid rows, you can also send only their file, which ends in .invalid.csv.`;
  const listed = `2 recipients of an earlier campaign with this text:\n  line 2: ${numbers[0]} gets this text from campaign ${id}\n`;
  const preview = await volley('preview', corrected, ...text);
  expect(preview.stdout).toContain(`warning     ${warning}`);
  expect(preview.stdout).toContain(listed);
  expect(preview.exit).toBe(0);

  const asked = await onTerminal({ cwd, env }, { '[y/N]': ['n'] }, 'send', corrected, ...text);
  expect(flowing(asked.messages)).toContain(`warning ${warning}`);
  expect(asked.messages).toContain('Send to 3 recipients (2 already get this text) via sms.example?');

  const seen = await volley('preview', corrected, ...text, '--only-new');
  expect(seen.stdout).toContain(`left out    2 who already get this text from campaign ${id} (spring)`);
  expect(seen.stdout).toContain('recipients  1 of 3 rows');
  expect(seen.stdout).toContain(listed);

  const sent = await volley('send', corrected, ...text, '--only-new', '--yes');
  expect(sent.stdout).toMatch(
    new RegExp(`: 1 recipient via sms.example; left out: 2 who already get this text from campaign ${id} `),
  );
  expect(sent.stdout).toContain('Who was left out is listed in its report: volley report ');
  const [, created = ''] = /volley report (\w+)/.exec(sent.stdout) ?? [];
  const report = await volley('report', created, '--status', 'duplicate');
  expect(report.stdout).toContain(
    `${numbers[0]},duplicate,line 2 gets the same text from an earlier campaign`,
  );
});

test('A sample to one number is compared with nothing', async () => {
  const sample = [
    'send',
    list('sample.csv', numbers),
    '--message',
    'A sample',
    '--test-to',
    '+447700900199',
    '--yes',
  ];
  for (const _ of [1, 2]) {
    const { output } = await json(...sample);
    expect(output).toMatchObject({ recipientCount: 1, sentBefore: null });
  }
});

test('Without Redis, a preview says that earlier campaigns are not compared', async () => {
  const offline = shell({ REDIS_URL: 'redis://127.0.0.1:1' });
  const preview = ['preview', list('offline.csv', numbers), '--message', 'Offline'];
  const { exit, stdout } = await offline.volley(...preview);
  expect(stdout).toContain('Volley did not check who gets this text already: there is no Redis.');
  expect(exit).toBe(0);
  const refused = await offline.volley(...preview, '--only-new');
  expect([refused.exit, refused.stderr]).toEqual([
    2,
    expect.stringContaining('there is no Redis. Nothing was sent.'),
  ]);
});
