import { expect, test } from 'vitest';
import { judgeWorkers } from '../../src/cli/doctor-workers.js';

const worker = (pid: number, settings: Record<string, string> = {}) =>
  ({ roles: ['send', 'follow-up'], settings, host: 'a', pid }) as const;

test('the doctor misses workers where none runs, and where none has a role', () => {
  expect(judgeWorkers([])).toMatchObject([{ level: 'warn', found: expect.stringContaining('none runs') }]);
  expect(judgeWorkers([{ ...worker(1), roles: ['send'] }])).toMatchObject([
    { level: 'warn', todo: 'Start one: volley work --roles follow-up' },
  ]);
});

test('the doctor has nothing to say of settings that are alike', () => {
  const settings = { version: '1.0.0', RETENTION: '30d' };
  expect(judgeWorkers([worker(1, settings), worker(2, settings)])).toMatchObject([
    { level: 'ok', found: '2 processes' },
  ]);
});

test('the doctor names what workers do not agree on, and which process has what', () => {
  const [old, recent] = [
    { version: '1.0.0', RETENTION: '30d' },
    { version: '1.1.0', RETENTION: '30d' },
  ];
  const workers = [worker(1, old), worker(2, recent), worker(3, old), worker(4, old), worker(5, old)];
  expect(judgeWorkers(workers)[1]).toMatchObject({
    level: 'warn',
    found: 'they differ: version: 1.0.0 in a 1 and a 3 and a 4 and 1 more, 1.1.0 in a 2',
    todo: expect.stringContaining('restart'),
  });
});

test('of a worker that is too old to tell, only the version is known to differ', () => {
  expect(judgeWorkers([worker(1), worker(2, { version: '1.1.0', RETENTION: '30d' })])[1]).toMatchObject({
    found: 'they differ: version: older in a 1, 1.1.0 in a 2',
  });
});
