import { expect, test } from 'vitest';
import { isLoopback } from '../../src/base/host-header.js';

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
