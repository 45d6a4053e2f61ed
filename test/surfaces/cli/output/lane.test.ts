import { expect, test } from 'vitest';
import type { LaneStatus } from '../../../../src/campaign/views/views.js';
import { renderLane } from '../../../../src/surfaces/cli/output/lane.js';
import { OPEN_LANE } from '../../../reporting/open-lane.js';
import { NOON } from '../campaign-status.js';

test('A reason that ends with a full stop is followed by one full stop only', () => {
  const stopped: LaneStatus = {
    ...OPEN_LANE,
    state: 'stopped',
    blockedBy: { code: 'stopped', state: 'stopped', reason: 'Replace the key.', since: null, until: null },
  };
  const lines = renderLane(stopped, 0, (_ink, text) => text);
  expect(lines.join('\n')).toContain('Replace the key. To resume it: volley lane resume main');
});

test('A lane without a token shows why, and when it tries again', () => {
  const blockedBy = {
    code: 'noToken' as const,
    state: 'noToken' as const,
    reason: 'api.example refuses connections',
    since: null,
    until: new Date(90_000).toISOString(),
  };
  const lines = renderLane({ ...OPEN_LANE, state: 'noToken', blockedBy }, 0, (_ink, text) => text).join('\n');
  expect(lines).toContain('main  waits for an access token');
  expect(lines).toMatch(
    /reason +api\.example refuses connections \(next attempt \d\d:\d\d:\d\d \S+ \(in 1m 30s\)\)/,
  );
});

test('A lane shows when it may send more requests, and how many requests await reports', () => {
  const permitsToCome = [{ at: new Date(90_000).toISOString(), permits: 5 }];
  const waiting: LaneStatus = {
    ...OPEN_LANE,
    awaitingReports: 1,
    quota: { ...OPEN_LANE.quota, permitsToCome },
  };
  const lines = renderLane(waiting, 0, (_ink, text) => text).join('\n');
  expect(lines).toMatch(/next +5 requests at \d\d:\d\d:\d\d \S+ \(in 1m 30s\)/);
  expect(lines).toContain('1 request awaits reports');
});

test.each([
  [null, null, /quota +0 used; the quota is not known yet/],
  [5, null, /0 of 5 used .*; configured: auto, not known yet$/m],
  [5, 5, /0 of 5 used .*; configured: auto, 5 learned$/m],
] as const)(
  'A lane with a limit of %s, of which it has learned %s, says whether the quota is known',
  (...row) => {
    const [limit, learned, said] = row;
    const learning: LaneStatus = {
      ...OPEN_LANE,
      quota: { ...OPEN_LANE.quota, configured: 'auto', limit, learned },
    };
    expect(renderLane(learning, 0, (_ink, text) => text).join('\n')).toMatch(said);
  },
);

test('A lane whose turns fail shows since when, and the error', () => {
  const failure = { kind: 'poll', since: new Date(NOON).toISOString(), error: 'broken' } as const;
  const lines = renderLane({ ...OPEN_LANE, turnFailures: [failure] }, NOON, (_ink, text) => text);
  expect(lines[1]).toBe('  failing   asking for delivery statuses has failed since 12:00:00 UTC: broken');
});
