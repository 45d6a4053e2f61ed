import { expect, test } from 'vitest';
import { parseClosed } from '../../../src/engine/lane/closed.js';

test('Why a lane is closed is read with what only scripts read, so that it can be written back', () => {
  const backoff = { why: '429', until: 2, since: 1, count: 3, probe: 7, probeUntil: 9 };
  expect(parseClosed(JSON.stringify({ throttled: backoff }))).toEqual({ throttled: backoff });
  expect(parseClosed('')).toEqual({});
});
