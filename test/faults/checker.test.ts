import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Violation, violationsOf } from './checker.js';
import { type EventOf, type HistoryEvent, readHistory, writeHistory } from './history.js';

const [ANN, BOB] = ['+46700000001', '+46700000002'];

const send = (at: number, number: string, of: Partial<EventOf<'request'>> = {}): HistoryEvent => ({
  is: 'request',
  at,
  key: 'k',
  kind: 'send',
  outcome: 'accepted',
  text: 'Sale',
  recipients: [number],
  requestId: `r-${at}`,
  finals: ['DeliveredToTerminal'],
  ...of,
});
const poll = (at: number): HistoryEvent => send(at, ANN, { kind: 'poll', outcome: 'infos', finals: [] });
const status = (
  at: number,
  counts: Record<string, number>,
  of: Partial<EventOf<'status'>> = {},
): HistoryEvent => ({
  is: 'status',
  at,
  until: at + 1,
  campaign: 'c',
  state: 'running',
  ended: false,
  waitingFor: null,
  counts: { total: 2, ...counts },
  ...of,
});
const row = (at: number, report: number, recipient: string, word: string): HistoryEvent => ({
  is: 'row',
  at,
  report,
  campaign: 'c',
  recipient,
  status: word,
});
const command = (
  at: number,
  word: EventOf<'command'>['command'],
  of: Partial<EventOf<'command'>> = {},
): HistoryEvent => ({
  is: 'command',
  at,
  until: at + 1,
  campaign: 'c',
  command: word,
  inFlight: 0,
  error: null,
  ...of,
});
const fault = (at: number, of: Partial<EventOf<'fault'>> = {}): HistoryEvent => ({
  is: 'fault',
  at,
  until: at + 1,
  fault: 'kill',
  target: 'send',
  forgets: false,
  mayLeave: 0,
  ...of,
});
const run = (quota: number): HistoryEvent => ({
  is: 'run',
  at: 0,
  scenario: 'by hand',
  seed: 1,
  quotas: [{ key: 'k', quota, windowMs: 100 }],
});
const campaign: HistoryEvent = {
  is: 'campaign',
  at: 1,
  campaign: 'c',
  key: 'k',
  text: 'Sale',
  recipients: [ANN, BOB],
};
const end = (of: Partial<EventOf<'end'>> = {}): HistoryEvent => ({
  is: 'end',
  at: 900,
  quiet: true,
  reason: '',
  ...of,
});
const bothDelivered = [
  status(800, { deliveredToTerminal: 2 }, { state: 'completed', ended: true }),
  row(850, 2, ANN, 'deliveredToTerminal'),
  row(850, 2, BOB, 'deliveredToTerminal'),
];
const bothSent = [send(10, ANN), send(20, BOB)];

/** What the checks say of these, beyond a run, a campaign and an end. */
const judge = (...events: HistoryEvent[]): Violation[] => violationsOf([run(100), campaign, ...events]);
const said = (violations: readonly Violation[]): string[] =>
  violations.map(({ check, what }) => `${check}: ${what}`);

test('a history in which all is well has no violation', () => {
  const violations = judge(
    status(5, { planned: 2 }),
    command(6, 'pause', { inFlight: 1 }),
    send(9, ANN),
    command(15, 'resume'),
    send(20, BOB),
    poll(30),
    status(40, { deliveredToNetwork: 1, deliveredToTerminal: 1 }),
    row(45, 1, ANN, 'deliveredToTerminal'),
    ...bothDelivered,
    end(),
  );
  expect(said(violations)).toEqual([]);
});

describe('at most once', () => {
  test('sees a recipient that is accepted twice', () => {
    expect(said(judge(...bothSent, send(30, ANN), ...bothDelivered, end()))).toEqual([
      `at most once: ${ANN} of c was accepted 2 times, at 10, 30`,
    ]);
  });

  test('allows a second time after each resend, and none before it', () => {
    const resent = (at: number) =>
      said(judge(...bothSent, command(at, 'resend'), send(30, ANN), ...bothDelivered, end()));
    expect(resent(25)).toEqual([]);
    expect(resent(35)).toHaveLength(1);
  });

  test('sees a text to a number that is not on the list', () => {
    expect(said(judge(...bothSent, send(30, '+46709999999'), ...bothDelivered, end()))).toEqual([
      'at most once: +46709999999 is not on the list of c and was sent to',
    ]);
  });
});

describe('conservation', () => {
  test('sees states that do not make the total, and counts below zero', () => {
    const violations = judge(
      ...bothSent,
      status(5, { planned: 1 }),
      status(6, { planned: 3, sending: -1 }),
      ...bothDelivered,
      end(),
    );
    expect(violations.map(({ check }) => check)).toEqual(['conservation', 'conservation']);
  });

  test('sees a list that lost a recipient on its way in', () => {
    const violations = judge(
      ...bothSent,
      status(5, { total: 1, planned: 1 }),
      status(6, { planned: 2 }),
      ...bothDelivered,
      end(),
    );
    expect(said(violations)).toEqual(['conservation: at 5 c had 1 recipients of 2']);
  });

  test('sees a report without a recipient, and one that is not what the status counts', () => {
    const violations = judge(
      ...bothSent,
      status(800, { deliveredToTerminal: 2 }),
      row(850, 1, ANN, 'deliveredToTerminal'),
      end(),
    );
    expect(said(violations)).toEqual([
      `conservation: the report of c has 1 rows for 2 recipients; not once: ${BOB}`,
      'conservation: c counts 2 deliveredToTerminal, its report has 1',
    ]);
  });

  test('sees that there is no report', () => {
    expect(said(judge(...bothSent, end()))).toEqual(['conservation: there is no report of c']);
  });
});

describe('quota', () => {
  const within = (quota: number, ...times: number[]) =>
    said(violationsOf([run(quota), ...times.map((at) => (at % 2 === 0 ? send(at, ANN) : poll(at))), end()]));

  test('counts sends and polls together in every rolling window', () => {
    expect(within(2, 10, 51, 109)).toEqual(['quota: 3 requests of k in the 100 ms before 109, permitted 2']);
    expect(within(2, 10, 51, 110)).toEqual([]);
  });

  test('counts what was turned away', () => {
    const refused = send(20, BOB, { outcome: 'quotaExceeded', finals: [] });
    expect(said(violationsOf([run(1), send(10, ANN), refused, end()]))).toHaveLength(1);
  });
});

describe('monotonicity', () => {
  test('sees a count of final ones that falls', () => {
    const violations = judge(
      ...bothSent,
      status(5, { deliveredToTerminal: 1, planned: 1 }),
      status(7, { deliveredToNetwork: 1, planned: 1 }),
      ...bothDelivered,
      end(),
    );
    expect(said(violations)).toEqual(['monotonicity: deliveredToTerminal of c fell from 1 to 0 at 7']);
  });

  test('begins a new count where Redis lost what it had answered', () => {
    const events = [
      status(5, { deliveredToTerminal: 1, planned: 1 }),
      fault(6, { fault: 'failover', forgets: true }),
      status(9, { planned: 2 }),
    ];
    expect(said(judge(...bothSent, ...events, ...bothDelivered, end()))).toEqual([]);
  });

  test('sees a recipient that was final in one report and not in the next', () => {
    const violations = judge(...bothSent, row(5, 1, ANN, 'deliveryImpossible'), ...bothDelivered, end());
    expect(said(violations)).toEqual([
      `monotonicity: ${ANN} of c was deliveryImpossible at 5 and deliveredToTerminal at 850`,
    ]);
  });

  test('sees a campaign that comes back from its end', () => {
    const violations = judge(
      ...bothSent,
      status(5, { deliveredToTerminal: 2 }, { state: 'cancelled', ended: true }),
      status(7, { deliveredToTerminal: 2 }, { state: 'running' }),
      ...bothDelivered,
      end(),
    );
    expect(said(violations)).toEqual([
      'monotonicity: c was cancelled and became running at 7',
      'monotonicity: c had ended and is open again at 7',
    ]);
  });
});

describe('completeness', () => {
  const ended = (word: string, ...events: HistoryEvent[]) =>
    said(
      judge(send(20, BOB), ...events, row(850, 1, ANN, word), row(850, 1, BOB, 'deliveredToTerminal'), end()),
    );

  test('sees a recipient that is not settled', () => {
    for (const word of ['planned', 'sending', 'deliveredToNetwork'])
      expect(ended(word)).toEqual([
        `completeness: ${ANN} of c is ${word}: not settled; the service accepted it 0 times`,
      ]);
  });

  test('sees a delivery of what was never accepted, or that the service reports otherwise', () => {
    expect(ended('deliveredToTerminal')).toHaveLength(1);
    expect(ended('deliveryImpossible', send(10, ANN))).toEqual([
      `completeness: ${ANN} of c is deliveryImpossible: the service reports DeliveredToTerminal`,
    ]);
    expect(ended('unconfirmed')).toHaveLength(1);
  });

  test('sees one that was accepted and is said never to have been', () => {
    for (const word of ['rejected', 'suppressed', 'lapsed'])
      expect(ended(word, send(10, ANN))).toHaveLength(1);
    expect(ended('cancelled', send(10, ANN), command(5, 'cancel', { inFlight: 2 }))).toHaveLength(1);
    expect(ended('rejected')).toEqual([]);
  });

  test('sees what nobody had ordered', () => {
    expect(ended('cancelled')).toHaveLength(1);
    expect(ended('abandoned')).toHaveLength(1);
    expect(ended('cancelled', command(30, 'cancel'))).toEqual([]);
    expect(ended('abandoned', command(30, 'abandon'))).toEqual([]);
  });

  test('allows no more unknown ones than the faults explain', () => {
    expect(ended('unknown')).toEqual(['completeness: 1 are unknown; the faults explain at most 0']);
    expect(ended('unknown', fault(5, { mayLeave: 1 }))).toEqual([]);
  });

  test('sees a run that did not come to rest, or did not end', () => {
    const stuck = end({ quiet: false, reason: 'nothing moved' });
    expect(said(judge(...bothSent, ...bothDelivered, stuck))).toEqual([
      'completeness: the run did not come to rest: nothing moved',
    ]);
    expect(said(judge(...bothSent, ...bothDelivered))).toEqual(['completeness: the run has no end']);
  });
});

describe('pause means pause', () => {
  test('sees more sends after it than it had named', () => {
    const violations = judge(
      command(5, 'pause', { inFlight: 1 }),
      ...bothSent,
      command(30, 'resume'),
      ...bothDelivered,
      end(),
    );
    expect(said(violations)).toEqual([
      'pause means pause: 2 sends of c arrived after pause, which named 1; ms after it: +4 +14',
    ]);
  });

  test('counts a send that was turned away, and one after cancel', () => {
    const refused = send(10, ANN, { outcome: 'quotaExceeded', finals: [] });
    expect(judge(command(5, 'cancel'), refused, end()).map(({ check }) => check)).toContain(
      'pause means pause',
    );
  });

  test('says nothing of a command that failed', () => {
    const violations = judge(command(5, 'pause', { error: 'lost' }), ...bothSent, ...bothDelivered, end());
    expect(said(violations)).toEqual([]);
  });
});

describe('a history in a file', () => {
  let folder = '';
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'volley-history-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  test('reads as it was written, so that a checker needs nothing else', async () => {
    const events = [run(1), campaign, ...bothSent, fault(30), command(40, 'pause'), ...bothDelivered, end()];
    const path = join(folder, 'whole.ndjson');
    await writeHistory(path, events);
    expect(await readHistory(path)).toEqual(events);
    expect(violationsOf(await readHistory(path))).toEqual(violationsOf(events));
  });

  test('names the line that is no event', async () => {
    const path = join(folder, 'broken.ndjson');
    await writeFile(path, '{"is":"end","at":1,"quiet":true,"reason":""}\n{"is":"nothing"}\n');
    await expect(readHistory(path)).rejects.toThrow(`${path}:2 is no event`);
  });
});
