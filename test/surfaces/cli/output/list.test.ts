import { expect, test } from 'vitest';
import { listLines, moreLines } from '../../../../src/surfaces/cli/output/list.js';
import { widthOf } from '../../../../src/surfaces/cli/output/text.js';
import { scene } from '../../../scene/scene.js';
import { isoAt, NOON, statusWith } from '../campaign-status.js';

const id = 'mws2vmompuz9a';
const DAY = 86_400_000;
/** Campaigns with as long values as are likely. */
const campaigns = [
  statusWith({
    id,
    name: 'A name that is far too long for a table',
    lane: 'marketing',
    counts: { deliveredToTerminal: 123_456, unknown: 17, planned: 654_321 },
    rate: 36_000,
    sendAt: isoAt(-3_600_000),
  }),
  statusWith({
    id,
    lane: 'default',
    state: 'completed',
    counts: { deliveredToTerminal: 3 },
    sendAt: isoAt(-20 * DAY),
  }),
  statusWith({
    id,
    lane: 'default',
    state: 'scheduled',
    waitingFor: 'workers',
    counts: { planned: 1_200_000 },
    sendAt: isoAt(20 * DAY),
  }),
];

test.each([80, 100, 120, 200])('At %i columns, the list is a table that fits', (width) => {
  const lines = listLines(campaigns, NOON, width);
  expect(lines).toHaveLength(1 + campaigns.length);
  for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(width);
  const [lane, name] = width > 80 ? [' +LANE', ' marketing'] : ['', ''];
  expect(lines[0]).toMatch(new RegExp(`^ID +NAME${lane} +STATE .*DONE +START +RATE +ATTENTION$`));
  expect(lines[1]).toMatch(new RegExp(`^${id}  A na.*${name}  running .* 36(K|,000)/h +17 unknown$`));
});

test.each([
  [2 * 3_600_000, 'opens 14:00 UTC', 'waits until 14:00 UTC (window)'],
  [DAY, 'opens 3 May', 'waits until Sun 3 May 12:00 UTC (window)'],
])('A campaign that waits %i ms for its window says until when', (inMs, short, long) => {
  const reason = 'the window is closed (Mon-Sat 09:00-20:00 Europe/Paris)';
  const waiting = statusWith({
    id,
    counts: { planned: 500_000 },
    waitingFor: 'window',
    blockedBy: { code: 'windowClosed', state: 'waiting', reason, since: null, until: isoAt(inMs) },
  });
  const sending = statusWith({ id, counts: { planned: 5, deliveredToTerminal: 5 }, rate: 36_000 });
  const [heading, at80] = listLines([waiting, sending], NOON, 80);
  expect(heading).toMatch(/START +RATE +ATTENTION$/);
  expect(at80).toContain(short);
  expect(widthOf(at80 ?? '')).toBeLessThanOrEqual(80);
  expect(listLines([waiting], NOON, 120)[1]).toContain(long);
});

test('A campaign whose lane fails to send says so, and since when', () => {
  const turnFailures = [{ kind: 'send' as const, since: isoAt(-60_000), error: 'broken' }];
  const failing = statusWith({ id, counts: { planned: 5 }, waitingFor: 'lane', turnFailures });
  expect(listLines([failing], NOON, 120)[1]).toMatch(/ sending fails since 11:59:00 UTC$/);
  expect(listLines([failing, ...campaigns], NOON, 80)[1]).toMatch(/ sending fails$/);
});

test('At 80 columns, numbers and times are short', () => {
  const alike = campaigns.map((campaign) => ({ ...campaign, lane: 'main' }));
  expect(listLines(alike, NOON, 80)).toEqual([
    'ID             NAME         STATE      DONE         START      RATE   ATTENTION',
    'mws2vmompuz9a  A name tha…  running    15% of 778K  11:00 UTC  36K/h  17 unknown',
    'mws2vmompuz9a  Spring sale  completed  100% of 3    12 Apr',
    'mws2vmompuz9a  Spring sale  scheduled  0% of 1.2M   22 May            no worker',
  ]);
});

test('Tags have a column if a campaign has any, unless the list would be too wide', () => {
  const tagged = { ...statusWith({ id, lane: 'main' }), tags: ['shop:17', 'vip'] };
  expect(listLines([tagged], NOON, 200)[0]).toMatch(/ RATE +TAGS +ATTENTION$|TAGS$/);
  expect(listLines([tagged, ...campaigns], NOON, 200)[1]).toContain('  shop:17 vip');
  expect(listLines([tagged, ...campaigns], NOON, 80)[0]).not.toContain('TAGS');
  expect(listLines(campaigns, NOON, 200)[0]).not.toContain('TAGS');
});

test('At 60 columns, each campaign has a line for each of its values', () => {
  const lines = listLines(campaigns, NOON, 60);
  for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(60);
  expect(lines.slice(0, 3)).toEqual([
    id,
    '  name        A name that is far too long f…',
    '  lane        marketing',
  ]);
});

test('Below a list that is not complete stands how to show the rest, as far as it is known', () => {
  expect(moreLines({ count: 12, isExact: true }, 20)).toEqual([
    '12 more campaigns. To show them, add --limit 32.',
  ]);
  expect(moreLines({ count: 5_000, isExact: false }, 3)).toEqual([
    'At least 5,000 more campaigns. To show them, add --limit 5003.',
  ]);
  expect(moreLines({ count: 0, isExact: true }, 3)).toEqual([]);
});

const { list, prefix, settings, shell } = scene('cli-list', { list: 'phone\n+447700900101\n' });

test('A list that is not complete says how many campaigns match besides', async () => {
  const env = { ...settings, REDIS_PREFIX: `${prefix}-more` };
  const { volley, json } = shell(env);
  const send = ['send', list, '--sender', 'ACME', '--message', 'Hi', '--yes', '--again'];
  const sent: string[] = [];
  for (const name of ['a', 'b', 'c', 'd', 'e'])
    sent.unshift(
      (
        (await json(...send, '--name', name, ...(name < 'd' ? ['--tag', 'old'] : []))).output as {
          id: string;
        }
      ).id,
    );
  const page = async (...args: readonly string[]) => {
    const { output } = await json('list', ...args);
    const { campaigns, nextCursor } = output as { campaigns: { id: string }[]; nextCursor: string | null };
    return { ids: campaigns.map(({ id }) => id), nextCursor: nextCursor ?? 'end' };
  };
  const first = await page('--limit', '2', '--tag', 'old');
  expect(first.ids).toEqual(sent.slice(2, 4));
  expect(await page('--limit', '2', '--tag', 'old', '--cursor', first.nextCursor)).toEqual({
    ids: sent.slice(4),
    nextCursor: 'end',
  });
  expect(await page('--limit', '20')).toEqual({ ids: sent, nextCursor: 'end' });
  expect((await volley('list', '--limit', '2')).stdout).toMatch(
    /\n3 more campaigns\. To show them, add --limit 5\.\n$/,
  );
});
