import { expect, test } from 'vitest';
import { loadLocalConfig } from '../../../../src/base/config/index.js';
import { consoleOrigin, servingConsole } from '../../../../src/surfaces/cli/open/console-link.js';
// Loaded before the tests begin, which only have to wait for what they test.
import '../../../../src/surfaces/http/index.js';
import { scene } from '../../../scene/scene.js';
import { onTerminal } from '../on-terminal.js';

const { folder: cwd, open, settings } = scene('console-link', { settings: { API_KEY: 'key' } });

test('The link leads to CONSOLE_URL, or to this machine, and to nowhere else', () => {
  const originOf = (env: Record<string, string>, port?: number) =>
    consoleOrigin(loadLocalConfig({ ...settings, SECRETS_KEY: 'a'.repeat(64), ...env }), port);
  expect(originOf({})).toBe('http://127.0.0.1:8080');
  expect(originOf({ HTTP_HOST: '0.0.0.0', HTTP_PORT: '9000' })).toBe('http://127.0.0.1:9000');
  expect(originOf({ HTTP_HOST: '::1' })).toBe('http://[::1]:8080');
  expect(originOf({ HTTP_PORT: '0' }, 41_234)).toBe('http://127.0.0.1:41234');
  expect(originOf({ HTTP_HOST: '10.0.0.5', CONSOLE_URL: 'https://volley.example/console/' })).toBe(
    'https://volley.example',
  );
  expect(() => originOf({ HTTP_PORT: '0' })).toThrow('Set HTTP_PORT, or CONSOLE_URL');
  expect(() => originOf({ HTTP_HOST: '10.0.0.5' })).toThrow('Set CONSOLE_URL');
  expect(() => originOf({ CONSOLE_URL: 'http://volley.example' })).toThrow('must be an https URL');
});

test('`volley console` prints only the link on standard output, in one piece however narrow the terminal is', async () => {
  const { exit, stdout, messages } = await onTerminal(
    { cwd, env: settings, columns: 40 },
    {},
    'console',
    '--scope',
    'read',
  );
  expect([exit, stdout]).toEqual([
    0,
    expect.stringMatching(/^http:\/\/127\.0\.0\.1:8080\/console\/#signin=vl_[\w-]{43}\n$/),
  ]);
  expect(messages.replace(/\s+/g, ' ')).toContain('within ten minutes, for read:');
});

test('A process prints its link on a terminal only: elsewhere, what it says is kept as a log', async () => {
  const config = loadLocalConfig({ ...settings, HTTP_PORT: '0' });
  const volley = open({ HTTP_PORT: '0' });
  const said = async (isTTY: boolean) => {
    const part = servingConsole({ stderr: { isTTY } })(volley, config, volley.events);
    const message = (await part.ready) ?? '';
    await part.stop();
    return message;
  };
  const [address = ''] = /http:[^ ,]+/.exec(await said(true)) ?? [];
  expect(address).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  expect(await said(true)).toMatch(/\nhttp:\/\/127\.0\.0\.1:\d+\/console\/#signin=vl_[\w-]{43}$/);
  expect(await said(false)).not.toContain('signin');
  const { entries } = await volley.audit();
  expect(entries.find(({ action }) => action === 'console.link')).toMatchObject({
    actor: { kind: 'cli' },
    details: { scopes: 'read,send,operate,admin' },
  });
});
