import { expect, test } from 'vitest';
import { violationsOf } from '../checker.js';
import type { EventOf, HistoryEvent } from '../history.js';

const [ANN, BOB] = ['+46700000001', '+46700000002'];
const WINDOW: EventOf<'window'> = {
  type: 'window',
  at: 1,
  campaign: 'c',
  openings: [
    { from: 1_000, until: 2_000 },
    { from: 5_000, until: 6_000 },
  ],
};
const write = (at: number, to: string, by = 'send 0'): HistoryEvent => ({
  ...{ type: 'write', at, until: at, by, text: 'Sale', recipients: [to] },
});
const arrival = (at: number, to: string, of: Partial<EventOf<'request'>> = {}): HistoryEvent => ({
  ...{ type: 'request', at, key: 'k', kind: 'send', outcome: 'accepted', text: 'Sale', recipients: [to] },
  ...{ requestId: `r-${at}`, finals: [], ...of },
});

/** What this check finds in the history of a campaign with this window and these events. */
const found = (...events: readonly HistoryEvent[]): string[] => {
  const recipients = [ANN, BOB];
  const campaign = { type: 'campaign', at: 1, campaign: 'c', key: 'k', text: 'Sale', recipients } as const;
  return violationsOf([campaign, WINDOW, ...events]).flatMap(({ check, what }) =>
    check === 'windows' ? [what] : [],
  );
};

test('Sends that are written before the first opening and after a closing are violations', () => {
  expect(found(write(999, ANN), write(1_500, BOB), write(3_000, ANN))).toEqual([
    '2 sends of c left outside its window, ms after it closed: before the first opening +1000',
  ]);
});

test('Sends that were written in time may arrive late, and polls may arrive at any time', () => {
  const writes = [write(1_000, ANN), write(1_999, BOB)];
  const poll = arrival(4_000, ANN, { kind: 'poll' });
  expect(found(...writes, arrival(1_001, ANN), arrival(4_400, BOB), poll)).toEqual([]);
});

test('A send whose write no process recorded is judged by when it arrives, also if it is refused', () => {
  const refused = (at: number) => arrival(at, BOB, { outcome: 'quotaExceeded' });
  expect(found(write(1_000, ANN), refused(1_500))).toEqual([]);
  expect(found(write(1_000, ANN), refused(2_000))).toHaveLength(1);
});

test('A send to a recipient with openings of its own must leave in these', () => {
  const ofBob = { ...WINDOW, openings: [{ from: 1_000, until: 1_200 }], recipients: [BOB] };
  expect(found(ofBob, write(1_500, ANN), write(1_100, BOB))).toEqual([]);
  expect(found(ofBob, write(1_500, BOB))).toHaveLength(1);
});

test('A stopped process may make the one write that it had begun when it continues', () => {
  const stop: HistoryEvent = {
    ...{ type: 'fault', at: 1_900, until: 4_000, fault: 'SIGSTOP', target: 'send 0' },
    ...{ losesData: false, mayBeUnknown: 0 },
  };
  expect(found(stop, write(4_001, ANN))).toEqual([]);
  expect(found(stop, write(4_001, ANN), write(4_002, BOB))).toHaveLength(1);
  expect(found(stop, write(4_001, ANN, 'send 1'))).toHaveLength(1);
  expect(found(stop, write(5_000, ANN), write(6_000, BOB))).toHaveLength(1);
});
