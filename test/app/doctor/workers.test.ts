import { expect, test } from 'vitest';
import { checkWorkers } from '../../../src/app/doctor/workers.js';
import { DATA_FORMAT } from '../../../src/engine/recovery/heartbeats.js';

const worker = (pid: number, settings: Record<string, string> = {}) =>
  ({ roles: ['send', 'follow-up'], settings, host: 'a', pid, format: DATA_FORMAT }) as const;

test('The doctor warns if no worker is running, or none for a role', () => {
  expect(checkWorkers([], 'To start one: volley work', false)).toMatchObject([
    { state: 'warn', message: expect.stringContaining('none is running') },
  ]);
  expect(checkWorkers([{ ...worker(1), roles: ['send'] }], 'To start one: volley work', false)).toMatchObject(
    [{ state: 'warn', advice: 'To start one: volley work' }],
  );
});

test('Workers whose data have another format fail the check', () => {
  expect(
    checkWorkers([worker(1), { ...worker(2), format: 1 }], 'To start one: volley work', false)[1],
  ).toMatchObject({
    name: 'versions of workers',
    state: 'fail',
    message: expect.stringContaining('a 2'),
  });
});

test('The doctor accepts workers with the same settings', () => {
  const settings = { version: '1.0.0', RETENTION: '30d' };
  expect(
    checkWorkers([worker(1, settings), worker(2, settings)], 'To start one: volley work', false),
  ).toMatchObject([{ state: 'ok', message: '2 processes' }]);
});

test('The doctor names settings that differ between workers, and the processes with each value', () => {
  const [old, recent] = [
    { version: '1.0.0', RETENTION: '30d' },
    { version: '1.1.0', RETENTION: '30d' },
  ];
  const workers = [worker(1, old), worker(2, recent), worker(3, old), worker(4, old), worker(5, old)];
  expect(checkWorkers(workers, 'To start one: volley work', false)[1]).toMatchObject({
    state: 'warn',
    message: 'they differ: version: 1.0.0 in a 1 and a 3 and a 4 and 1 more, 1.1.0 in a 2',
    advice: expect.stringContaining('Restart'),
  });
});
