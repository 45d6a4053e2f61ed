import { expect, test } from 'vitest';
import { checkLane } from '../../../src/app/doctor/lanes.js';
import { OPEN_LANE } from '../../reporting/open-lane.js';

const reason = 'the service does not accept the API key of lane main (401)';

test.each([
  ['open', {}, ['ok']],
  [
    'backing off',
    {
      state: 'backingOff',
      blockedBy: {
        code: 'throttled',
        state: 'backingOff',
        reason: 'the service answered 429',
        since: null,
        until: null,
      },
    },
    ['ok'],
  ],
  ['probing', { state: 'probing', blockedBy: null }, ['ok']],
  [
    'without a token',
    {
      state: 'noToken',
      blockedBy: { code: 'noToken', state: 'noToken', reason: 'a timeout', since: null, until: null },
    },
    ['warn'],
  ],
  [
    'held',
    {
      state: 'held',
      blockedBy: { code: 'held', state: 'held', reason: 'held by an operator', since: null, until: null },
    },
    ['warn'],
  ],
  [
    'stopped',
    { state: 'stopped', blockedBy: { code: 'stopped', state: 'stopped', reason, since: null, until: null } },
    ['fail'],
  ],
  [
    'failing',
    { turnFailures: [{ kind: 'send', since: new Date(0).toISOString(), error: 'broken' }] },
    ['ok', 'fail'],
  ],
  ['open, with unknown outcomes', { unknownOutcomes: 2 }, ['ok', 'warn']],
] as const)('The doctor checks a lane that is %s', (_, change, levels) => {
  const checks = checkLane({ ...OPEN_LANE, ...change }, 0);
  expect(checks.map(({ state }) => state)).toEqual(levels);
  for (const { state, advice } of checks) if (state !== 'ok') expect(advice).toMatch(/volley/i);
});

test('The doctor shows why a lane is stopped and the command that resumes it', () => {
  const [check] = checkLane(
    {
      ...OPEN_LANE,
      state: 'stopped',
      blockedBy: { code: 'stopped', state: 'stopped', reason, since: null, until: null },
    },
    0,
  );
  expect(check).toMatchObject({
    message: `stopped: ${reason}`,
    advice: 'Fix the reason, then: volley lane resume main',
  });
});
