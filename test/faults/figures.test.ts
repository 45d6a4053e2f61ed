import { expect, test } from 'vitest';
import { figuresOf, recoveryTimes } from './figures.js';
import type { HistoryEvent } from './history.js';

const [ANN, BOB, CID] = ['+46700000001', '+46700000002', '+46700000003'];
const accepted = (at: number, key: string, number: string): HistoryEvent => ({
  type: 'request',
  at,
  key,
  kind: 'send',
  outcome: 'accepted',
  text: 'Sale',
  recipients: [number],
  requestId: `r-${at}`,
  finals: ['DeliveredToTerminal'],
});
const row = (recipient: string, status: string): HistoryEvent => ({
  type: 'row',
  at: 90,
  report: 1,
  campaign: 'c',
  recipient,
  status,
});
const kill = (at: number, fault: string): HistoryEvent => ({
  type: 'fault',
  at,
  until: at + 1,
  fault,
  target: 'send',
  losesData: false,
  mayBeUnknown: 1,
});

test('The figures count recipients accepted once, twice, and never, and unknown ones that were accepted', () => {
  const recipients = [ANN, BOB, CID];
  const events: HistoryEvent[] = [
    { type: 'run', at: 0, scenario: 's', seed: 1, quotas: [{ key: 'k', quota: 4, windowMs: 100 }] },
    { type: 'campaign', at: 1, campaign: 'c', key: 'k', text: 'Sale', recipients },
    ...[accepted(10, 'k', ANN), accepted(20, 'k', ANN), accepted(30, 'k', BOB)],
    ...[row(ANN, 'deliveredToTerminal'), row(BOB, 'unknown'), row(CID, 'planned')],
  ];
  expect(figuresOf(events)).toMatchObject({
    ...{ recipients: 3, once: 1, twice: 1, lost: 1, unknown: 1, unknownAccepted: 1 },
    fullestWindow: 0.75,
  });
});

test('The recovery time of a kill ends when the lane that waits longest is served by a new request', () => {
  const events = [
    kill(100, 'SIGKILL'),
    ...[accepted(105, 'a', ANN), accepted(160, 'a', ANN)],
    ...[accepted(120, 'b', BOB), accepted(400, 'b', BOB)],
    kill(300, 'cutAfter'),
    kill(390, 'kill'),
  ];
  expect(recoveryTimes(events, 20)).toEqual([300, 0]);
});
