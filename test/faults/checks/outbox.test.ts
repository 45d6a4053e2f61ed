import { expect, test } from 'vitest';
import { violationsOf } from '../checker.js';
import type { EventOf, HistoryEvent } from '../history.js';

const outbox = (texts: EventOf<'outbox'>['texts']): HistoryEvent => ({
  type: 'outbox',
  at: 70,
  campaign: 'outbox:o',
  key: 'k',
  texts,
});
const send = (at: number, text: string): HistoryEvent => ({
  type: 'request',
  at,
  key: 'k',
  kind: 'send',
  outcome: 'accepted',
  text,
  recipients: ['+46700000001'],
  requestId: `r-${at}`,
  finals: ['DeliveredToTerminal'],
});
const status = (at: number, counts: Record<string, number>): HistoryEvent => ({
  ...{ type: 'status', at, until: at + 1, campaign: 'outbox:o', state: 'running', ended: false },
  ...{ waitingFor: null, counts },
});
const row = (id: string, state: string): HistoryEvent => ({
  ...{ type: 'row', at: 90, report: 1, campaign: 'outbox:o', recipient: id, status: state },
});
const end: HistoryEvent = { type: 'end', at: 99, settled: true, reason: '' };

/** What is wrong with the outbox if these events are added, or replace those of a correct history. */
const found = (
  {
    texts = { a: ['a 2'], b: [] },
    rows = { a: 'deliveredToTerminal', b: 'cancelled' },
    counts = { total: 2, deliveredToTerminal: 1, cancelled: 1 },
  }: { texts?: EventOf<'outbox'>['texts']; rows?: Record<string, string>; counts?: Record<string, number> },
  ...events: HistoryEvent[]
): string[] =>
  violationsOf([
    ...events,
    status(80, counts),
    outbox(texts),
    ...Object.entries(rows).map(([id, state]) => row(id, state)),
    end,
  ]).map(({ check, what }) => `${check}: ${what}`);

test('An outbox that grows, and sends each message once with its last text, has no violations', () => {
  expect(found({}, status(5, { total: 1, waiting: 1 }), send(10, 'a 2'))).toEqual([]);
});

test('A message that is sent twice, with an earlier text, or after its cancel violates at-most-once', () => {
  const twice = 'at most once: a of outbox:o was accepted 2 times, at 10, 20';
  expect(found({}, send(10, 'a 2'), send(20, 'a 2'))).toEqual([twice]);
  const listed = (text: string): string =>
    `at most once: ${JSON.stringify(text)} was accepted but is not on the list of outbox:o`;
  expect(found({}, send(10, 'a 2'), send(20, 'a 1'))).toEqual([listed('a 1')]);
  expect(found({}, send(10, 'a 2'), send(20, 'b 1'))).toEqual([listed('b 1')]);
});

test('A message that is not sent although it is reported, or reported although its cancel was confirmed, violates completeness', () => {
  expect(found({})).toEqual([
    'completeness: a of outbox:o is deliveredToTerminal: the service never accepted it',
  ]);
  expect(found({ texts: { a: [], b: [] } })).toEqual([
    'completeness: a of outbox:o is deliveredToTerminal: its cancel was confirmed',
  ]);
  expect(found({ texts: { a: ['a 2'], b: ['b 1'] } }, send(10, 'a 2'))).toEqual([
    'completeness: b of outbox:o is cancelled: no operator cancelled it',
  ]);
});

test('A message that is missing in the report, and a total that falls, are violations', () => {
  expect(found({ rows: { a: 'deliveredToTerminal' } }, send(10, 'a 2')).join()).toMatch(
    /^conservation: .*missing or repeated: b/,
  );
  expect(found({}, status(5, { total: 3, waiting: 3 }), send(10, 'a 2'))).toEqual([
    'conservation: at 5 outbox:o had 3 recipients of 2',
    'monotonicity: total of outbox:o fell from 3 to 2 at 80',
  ]);
});

test('An id that was cancelled when it was planned, and put again, may have a row for each', () => {
  const counts = { total: 3, deliveredToTerminal: 1, cancelled: 2 };
  expect(found({ counts }, send(10, 'a 2'), row('a', 'cancelled'))).toEqual([]);
  expect(found({ counts }, send(10, 'a 2')).join()).toMatch(
    /^conservation: at 80 outbox:o had 3 recipients of 2,/,
  );
});

test('A problem that an attack has seen is a violation', () => {
  expect(found({}, send(10, 'a 2'), { type: 'problem', at: 50, what: 'b was refused' })).toEqual([
    'the attack: b was refused',
  ]);
});
