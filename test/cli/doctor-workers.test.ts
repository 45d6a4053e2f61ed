import { expect, test } from 'vitest';
import { checkWorkers } from '../../src/cli/doctor/workers.js';

const worker = (pid: number, settings: Record<string, string> = {}) =>
  ({ roles: ['send', 'follow-up'], settings, host: 'a', pid }) as const;

test('The doctor warns if no worker is running, or none for a role', () => {
  expect(checkWorkers([])).toMatchObject([
    { level: 'warn', found: expect.stringContaining('none is running') },
  ]);
  expect(checkWorkers([{ ...worker(1), roles: ['send'] }])).toMatchObject([
    { level: 'warn', todo: 'Start one: volley work --roles follow-up' },
  ]);
});

test('The doctor accepts workers with the same settings', () => {
  const settings = { version: '1.0.0', RETENTION: '30d' };
  expect(checkWorkers([worker(1, settings), worker(2, settings)])).toMatchObject([
    { level: 'ok', found: '2 processes' },
  ]);
});

test('The doctor names settings that differ between workers, and the processes with each value', () => {
  const [old, recent] = [
    { version: '1.0.0', RETENTION: '30d' },
    { version: '1.1.0', RETENTION: '30d' },
  ];
  const workers = [worker(1, old), worker(2, recent), worker(3, old), worker(4, old), worker(5, old)];
  expect(checkWorkers(workers)[1]).toMatchObject({
    level: 'warn',
    found: 'they differ: version: 1.0.0 in a 1 and a 3 and a 4 and 1 more, 1.1.0 in a 2',
    todo: expect.stringContaining('Restart'),
  });
});

test('For a worker too old to report its settings, the doctor names only its version', () => {
  expect(checkWorkers([worker(1), worker(2, { version: '1.1.0', RETENTION: '30d' })])[1]).toMatchObject({
    found: 'they differ: version: older in a 1, 1.1.0 in a 2',
  });
});
