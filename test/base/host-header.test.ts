import { expect, test } from 'vitest';
import { isLoopback, isTrustedHost } from '../../src/base/host-header.js';

test('Only addresses of this machine and localhost are loopback', () => {
  for (const host of ['localhost', 'LOCALHOST', '127.0.0.1', '127.1.2.3', '::1', '[::1]', '::ffff:127.0.0.1'])
    expect([host, isLoopback(host)]).toEqual([host, true]);
  for (const host of [
    '127.evil.example',
    '127.0.0.1.evil.example',
    '127.',
    '128.0.0.1',
    '::2',
    'localhost.evil',
  ])
    expect([host, isLoopback(host)]).toEqual([host, false]);
});

test('A web page can cause no request under an address, a name without a dot, or one that is listed', () => {
  const trusted = (host?: string): boolean => isTrustedHost(host, '0.0.0.0', ['Metrics.example']);
  for (const host of ['127.0.0.1', '10.0.0.1:80', '[::1]:9464', 'localhost', 'worker:80', 'metrics.example.'])
    expect([host, trusted(host)]).toEqual([host, true]);
  expect(trusted()).toBe(true);
  for (const host of ['attacker.example', 'attacker.example:80', '127.0.0.1.attacker.example'])
    expect([host, trusted(host)]).toEqual([host, false]);
});
