import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { type Settings, scene } from '../../../scene/scene.js';
import { CTRL_C, CTRL_D, onTerminal } from '../on-terminal.js';

const {
  shell,
  folder: cwd,
  list,
  settings,
  stored,
  write,
} = scene('cli-asking', {
  list: 'name,phone\nAnna\u001b[31m,+447700900101\n',
  settings: { MESSAGING_BASE_URL: 'https://sms.example/smsmessaging/v1' },
});

/** Runs a command on a terminal, where the user gives this reply to its question. */
const asked = (reply: string, env: Settings, ...args: readonly string[]) =>
  onTerminal({ cwd, env: { ...settings, ...env } }, { '[y/N]': [reply] }, ...args);

const send = ['send', list, '-s', '447700900000', '-m', 'Hi {{name}}'];
const campaigns = async (): Promise<unknown> => (await shell().json('list')).output;

test.each([['n'], [''], ['maybe']])(
  'On a terminal, the reply %j to the question sends nothing',
  async (reply) => {
    const { exit, messages, stdout } = await asked(reply, {}, ...send);
    expect(messages.split('\n').map((line) => line.trimEnd())).toEqual(
      expect.arrayContaining([
        'text        Hi {{name}}',
        'sender      447700900000',
        'lane        default',
        'start       now',
        'validity    no limit',
        'recipients  1 of 1 row, numbers in column "phone"',
        'segments    1 segment per message, 1 in total',
        '            up to 70 characters per segment instead of 160, because of U+001B',
        'requests    3: 1 to send, about 2 to ask for delivery reports',
        expect.stringMatching(/^time {8}last message/),
        'samples     +447700900101  Hi Anna·[31m',
      ]),
    );
    expect(messages).toContain('Send to 1 recipient via sms.example?');
    expect(messages).toContain('Nothing was sent.');
    expect(stdout).toBe('');
    expect(exit).toBe(1);
    expect(await campaigns()).toMatchObject({ campaigns: [] });
  },
);

test('On a terminal, --json asks, too: an output format is no consent', async () => {
  const { exit, messages, stdout } = await asked('n', {}, ...send, '--json');
  expect(messages).toContain('Send to 1 recipient via sms.example?');
  expect([exit, JSON.parse(stdout)]).toMatchObject([1, { error: { code: 'declined' } }]);
  expect(await campaigns()).toMatchObject({ campaigns: [] });
});

test.each([[CTRL_C], [CTRL_D]])(
  'After %j at the question, the shell prompt has a line of its own',
  async (reply) => {
    const { exit, messages } = await asked(reply, {}, ...send);
    const lines = stripVTControlCharacters(messages).replaceAll('\r', '').split('\n');
    expect(lines.slice(-3)).toEqual([
      expect.stringContaining('Send to 1 recipient via sms.example? [y/N]'),
      'Interrupted; nothing was sent.',
      '',
    ]);
    expect(exit).toBe(130);
    expect(await campaigns()).toMatchObject({ campaigns: [] });
  },
);

test('On a terminal, the question names the cost, and the preview before it shows how it comes about', async () => {
  const prices = { PRICE_PER_SEGMENT: '0.042 EUR' };
  const { messages } = await asked('n', prices, ...send, '--max-cost', '1');
  expect(messages).toContain('cost        0.042 EUR at 0.042 EUR per segment; the limit is 1.00 EUR');
  expect(messages).toContain('Send to 1 recipient for 0.042 EUR via sms.example?');
  expect(await campaigns()).toMatchObject({ campaigns: [] });
});

test('On a terminal, the reply y to the question sends the campaign', async () => {
  const { exit, stdout } = await asked('y', {}, ...send);
  expect(stdout).toMatch(/^Campaign \w+: 1 recipient via sms\.example\.\n/);
  expect(exit).toBe(0);
  expect(await campaigns()).toMatchObject({ campaigns: [{ name: 'list' }] });
});

test('On a terminal, cancel shows what it cancels and asks first, unless --yes is given', async () => {
  const cli = shell();
  const stateOf = async (id: string): Promise<unknown> => (await cli.json('status', id)).output;
  const { output } = await cli.json(...send, '--yes', '--again');
  const { id } = output as { id: string };
  const kept = await asked('n', {}, 'cancel', id);
  const question = '1 recipient will get no message. This cannot be undone. Cancel it?';
  expect(kept.messages).toContain(`Campaign ${id} (list): ${question}`);
  expect(kept.messages).toContain('Nothing was changed.');
  expect(kept.exit).toBe(1);
  const left = await asked(CTRL_C, {}, 'cancel', id);
  expect(left.messages).toContain('Interrupted; nothing was changed.');
  expect(left.exit).toBe(130);
  expect(await stateOf(id)).toMatchObject({ state: 'running' });
  const cancelled = await asked('y', {}, 'cancel', id);
  expect(cancelled.stdout).toContain(`Campaign ${id} is cancelled. 1 recipient will get no message`);
  // It is cancelled already, so there is nothing to ask.
  expect((await asked('n', {}, 'cancel', id)).exit).toBe(0);
  const { output: other } = await cli.json(...send, '--yes', '--again');
  const unasked = await asked('n', {}, 'cancel', (other as { id: string }).id, '--yes');
  expect(unasked.messages).not.toContain('[y/N]');
  expect(unasked.exit).toBe(0);
});

test('Without a terminal, cancel needs --yes; with nothing left to send, it is refused without a question', async () => {
  const cli = shell();
  const { output } = await cli.json(...send, '--yes', '--again');
  const { id } = output as { id: string };
  const refused = await cli.volley('cancel', id);
  expect([refused.exit, refused.stderr]).toEqual([2, expect.stringContaining('Add --yes to cancel')]);
  expect((await cli.json('status', id)).output).toMatchObject({ state: 'running' });
  // Its only message is on the network.
  await stored().settle(id, 'N');
  const { exit, messages, stdout } = await asked('', {}, 'cancel', id);
  expect([exit, stdout]).toEqual([2, '']);
  expect(messages.replace(/\s+/g, ' ')).toBe(
    `volley: Everything of campaign ${id} has been sent; there is nothing to cancel. `,
  );
});

test('A list that repeats a number with another text says so before the question, and sends what was chosen', async () => {
  const to = '+447700900102';
  const repeated = write('repeated.csv', `name,phone\nAnna,${to}\nBo,${to}\nAnna,${to}\n`);
  const sendRepeated = ['send', repeated, '-s', '447700900000', '-m', 'Hi {{name}}'];
  const { messages } = await asked('n', {}, ...sendRepeated);
  expect(messages).toContain('1 of 3 rows');
  // On a terminal, long lines are broken.
  expect(messages.replace(/\s+/g, ' ')).toContain(
    'warning 1 number appears again with another text: line 3 (same number as line 2). Only the first message to a number is sent. To send all messages, use --duplicates keep',
  );
  const cli = shell();
  const preview = await cli.volley('preview', ...sendRepeated.slice(1));
  expect(preview.stdout).toContain(
    `2 rows with the number of an earlier row:\n  line 3: ${to} has another text than line 2\n  line 4: ${to} repeats line 2\n`,
  );
  const refused = await cli.volley(...sendRepeated, '--yes', '--duplicates', 'refuse');
  expect(refused.stderr).toContain(
    'Line 3 has the number of line 2, but a different text. Nothing was sent.',
  );
  expect(refused.exit).toBe(2);
  expect(await cli.json(...sendRepeated, '--yes', '--duplicates', 'refuse')).toMatchObject({
    exit: 2,
    output: { error: { code: 'differentTexts', differentTexts: 1, repeats: [{ line: 3, firstLine: 2 }] } },
  });
  const first = await cli.volley(...sendRepeated, '--yes');
  expect(first.stdout).toContain('1 recipient via sms.example; left out: 2 duplicates.');
  expect(first.stderr).toContain('1 number appears again with another text: line 3');
  const kept = await cli.json(...sendRepeated, '--yes', '--duplicates', 'keep');
  expect(kept).toMatchObject({ exit: 0, output: { recipientCount: 2, duplicates: 1, differentTexts: 1 } });
  const { id } = kept.output as { id: string };
  expect((await cli.volley('report', id, '--status', 'duplicate')).stdout).toContain('line 4 repeats line 2');
});

test('The status and the report show the rows that --skip-invalid left out', async () => {
  const partly = write('partly.csv', 'phone,reference\n+447700900103,r1\nask Bo,r2\n+447700900103,r3\n');
  const { json, volley } = shell();
  const sent = await json('send', partly, '-s', '447700900000', '-m', 'Hi', '--skip-invalid', '--yes');
  const { id } = sent.output as { id: string };
  expect((await json('status', id)).output).toMatchObject({
    counts: { total: 1 },
    duplicates: 1,
    invalid: 1,
  });
  expect((await volley('status', id)).stdout.replace(/\s+/g, ' ')).toContain(
    `left out 1 duplicate, 1 invalid row: volley report ${id} --status invalid`,
  );
  expect((await volley('report', id, '--status', 'invalid')).stdout).toMatch(
    /^ask Bo,invalid,"line 3, column ""phone"": the number is invalid",,,[^,]*,r2,,,3,phone,invalidNumber$/m,
  );
});

test('Output has colours on a terminal, but not with NO_COLOR or in a file', async () => {
  const colour = '\u001b[';
  expect((await asked('', { NO_COLOR: '' }, 'lanes')).stdout).toContain(colour);
  expect((await asked('', {}, 'lanes')).stdout).not.toContain(colour);
  expect((await shell().volley('lanes')).stdout).not.toContain(colour);
});

test('Cancelling everything in an outbox asks first', async () => {
  const { volley } = shell();
  await volley('outbox', 'create', 'codes', '--message', 'Hi', '--sender', 'ACME');
  for (const id of ['a', 'b']) {
    const put = ['outbox', 'put', 'codes', id, '+447700900123', '--send-at', '2030-01-01T00:00:00Z'];
    expect((await volley(...put)).exit).toBe(0);
  }
  const cancel = ['outbox', 'cancel-all', 'codes'];
  const unasked = await volley(...cancel);
  expect([unasked.exit, unasked.stderr]).toEqual([2, expect.stringContaining('Add --yes')]);
  const declined = await asked('n', {}, ...cancel);
  expect([declined.exit, declined.messages]).toEqual([
    1,
    expect.stringContaining('Cancel 2 messages of outbox codes'),
  ]);
  expect((await volley('outbox', 'show', 'codes')).stdout).toContain('2 waiting');
  expect((await asked('y', {}, ...cancel)).stdout).toContain('2 messages will never be sent');
  expect((await volley(...cancel, '--yes')).stdout).toContain('Nothing was waiting');
});
