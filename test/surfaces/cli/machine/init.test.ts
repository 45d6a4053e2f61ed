import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { loadConfig, loadDotEnv } from '../../../../src/base/config/index.js';
import { temporaryFolder } from '../../../scene/closing.js';
import { CTRL_C, onTerminal } from '../on-terminal.js';

const folder = (): string => temporaryFolder().path;

const ANSWERS = {
  'Address of the messaging service': ['nonsense', 'https://host.example/smsmessaging/v1'],
  'API key': [''],
  'User name': ['me'],
  'Its password': ['pass #"word'],
  'Requests per hour': [''],
  'Sender of campaigns': ['ACME'],
  'Country of numbers': ['UK', 'GB'],
  'Address of Redis': [''],
};

test('volley init asks, checks each answer, and writes settings that load', async () => {
  const cwd = folder();
  const { exit, messages, stdout } = await onTerminal({ cwd }, ANSWERS, 'init');
  expect(messages).toMatch(/MESSAGING_BASE_URL must be.*nonsense|MESSAGING_BASE_URL must be/);
  expect(messages).toContain('the United Kingdom is GB');
  // What is typed as a password is not shown.
  expect(messages).not.toContain('word"');
  expect(messages).not.toContain('pass #');
  expect(stdout).toMatch(/Wrote .*\.env, which only you can read.*volley doctor.*volley up/s);
  expect(exit).toBe(0);
  expect(statSync(join(cwd, '.env')).mode & 0o777).toBe(0o600);
  const config = loadConfig(loadDotEnv(cwd, {}));
  expect(config).toMatchObject({
    senderAddress: 'ACME',
    defaultCountry: 'GB',
    secretsKey: expect.any(String),
  });
  expect(loadDotEnv(cwd, {})).toMatchObject({ ACCOUNT_USERNAME: 'me', ACCOUNT_PASSWORD: 'pass #"word' });
});

test('volley init never overwrites a file without --force, and Ctrl-C writes nothing', async () => {
  const cwd = folder();
  await onTerminal({ cwd }, ANSWERS, 'init');
  const before = readFileSync(join(cwd, '.env'), 'utf8');
  const again = await onTerminal({ cwd }, ANSWERS, 'init');
  expect([again.exit, again.messages]).toEqual([2, expect.stringMatching(/exists\s+already/)]);
  const cut = await onTerminal({ cwd }, { 'Address of the messaging': [CTRL_C] }, 'init', '--force');
  expect([cut.exit, cut.messages]).toEqual([
    130,
    expect.stringContaining('Interrupted; nothing was written'),
  ]);
  expect(readFileSync(join(cwd, '.env'), 'utf8')).toBe(before);
});

test('volley init goes back to the question before, also to that for the API key', async () => {
  const cwd = folder();
  const answers = {
    'Address of the messaging service': ['<', 'https://host.example/smsmessaging/v1'],
    'API key': ['', 'wrong', 'right-key'],
    'User name': ['<'],
    'Requests per hour': ['<', '100'],
    'Sender of campaigns': [''],
    'Country of numbers': [''],
    'Address of Redis': [''],
  };
  const { exit, messages } = await onTerminal({ cwd }, answers, 'init');
  expect(messages).toContain('This is the first question.');
  expect(exit).toBe(0);
  expect(loadDotEnv(cwd, {})).toMatchObject({ API_KEY: 'right-key', HOURLY_QUOTA: '100' });
  expect(loadDotEnv(cwd, {})).not.toHaveProperty('ACCOUNT_USERNAME');
});

test('volley init breaks its questions into the width of the terminal', async () => {
  const { messages } = await onTerminal({ cwd: folder(), columns: 50 }, ANSWERS, 'init');
  // Each time when a question is drawn, and without the answers.
  const drawn = stripVTControlCharacters(messages.replaceAll('\u001b[1G', '\n')).split(/\r?\n/);
  const lines = drawn.map((line) => line.replace(/^(.*:) .*$/, '$1'));
  expect(lines.length).toBeGreaterThan(15);
  for (const line of lines) expect(line.length, line).toBeLessThanOrEqual(50);
});
