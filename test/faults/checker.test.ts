import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Violation, violationsOf } from './checker.js';
import { type EventOf, type HistoryEvent, readHistory, writeHistory } from './history.js';

const [ANN, BOB] = ['+46700000001', '+46700000002'];

const send = (at: number, number: string, of: Partial<EventOf<'request'>> = {}): HistoryEvent => ({
  type: 'request',
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
  type: 'status',
  at,
  until: at + 1,
  campaign: 'c',
  state: 'running',
  ended: false,
  waitingFor: null,
  counts: { total: 2, ...counts },
  ...of,
});
const row = (
  at: number,
  report: number,
  recipient: string,
  recipientStatus: string,
  of: Partial<EventOf<'row'>> = {},
): HistoryEvent => ({
  type: 'row',
  at,
  report,
  campaign: 'c',
  recipient,
  status: recipientStatus,
  ...of,
});
const command = (
  at: number,
  name: EventOf<'command'>['command'],
  of: Partial<EventOf<'command'>> = {},
): HistoryEvent => ({
  type: 'command',
  at,
  until: at + 1,
  campaign: 'c',
  command: name,
  inFlight: 0,
  error: null,
  ...of,
});
const fault = (at: number, of: Partial<EventOf<'fault'>> = {}): HistoryEvent => ({
  type: 'fault',
  at,
  until: at + 1,
  fault: 'kill',
  target: 'send',
  losesData: false,
  mayBeUnknown: 0,
  ...of,
});
const run = (quota: number): HistoryEvent => ({
  type: 'run',
  at: 0,
  scenario: 'handmade',
  seed: 1,
  quotas: [{ key: 'k', quota, windowMs: 100 }],
});
const campaign: HistoryEvent = {
  type: 'campaign',
  at: 1,
  campaign: 'c',
  key: 'k',
  text: 'Sale',
  recipients: [ANN, BOB],
};
const end = (of: Partial<EventOf<'end'>> = {}): HistoryEvent => ({
  type: 'end',
  at: 900,
  settled: true,
  reason: '',
  ...of,
});
const bothDelivered = [
  status(800, { deliveredToTerminal: 2 }, { state: 'completed', ended: true }),
  row(850, 2, ANN, 'deliveredToTerminal'),
  row(850, 2, BOB, 'deliveredToTerminal'),
];
const bothSent = [send(10, ANN), send(20, BOB)];

/** The violations in a history of a run, a campaign, and these events. */
const violationsIn = (...events: HistoryEvent[]): Violation[] =>
  violationsOf([run(100), campaign, ...events]);
const texts = (violations: readonly Violation[]): string[] =>
  violations.map(({ check, what }) => `${check}: ${what}`);

test('a correct history has no violations', () => {
  const violations = violationsIn(
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
  expect(texts(violations)).toEqual([]);
});

describe('at most once', () => {
  test('reports a recipient that was accepted twice', () => {
    expect(texts(violationsIn(...bothSent, send(30, ANN), ...bothDelivered, end()))).toEqual([
      `at most once: ${ANN} of c was accepted 2 times, at 10, 30`,
    ]);
  });

  test('allows another acceptance after each resend, but not before it', () => {
    const resent = (at: number) =>
      texts(violationsIn(...bothSent, command(at, 'resend'), send(30, ANN), ...bothDelivered, end()));
    expect(resent(25)).toEqual([]);
    expect(resent(35)).toHaveLength(1);
  });

  test('reports a late request of the process that claimed a message before it was sent again', () => {
    const late = [send(20, BOB), command(25, 'resend'), send(30, ANN), send(40, ANN)];
    expect(texts(violationsIn(...late, ...bothDelivered, end()))).toEqual([
      `at most once: ${ANN} of c was accepted 2 times, at 30, 40`,
    ]);
  });

  test('reports a number that is not on the list', () => {
    expect(texts(violationsIn(...bothSent, send(30, '+46709999999'), ...bothDelivered, end()))).toEqual([
      'at most once: +46709999999 was accepted but is not on the list of c',
    ]);
  });
});

describe('conservation', () => {
  test('reports states that do not add up to the total, and negative counts', () => {
    const violations = violationsIn(
      ...bothSent,
      status(5, { planned: 1 }),
      status(6, { planned: 3, sending: -1 }),
      ...bothDelivered,
      end(),
    );
    expect(violations.map(({ check }) => check)).toEqual(['conservation', 'conservation']);
  });

  test('reports a list that lost a recipient during the import', () => {
    const violations = violationsIn(
      ...bothSent,
      status(5, { total: 1, planned: 1 }),
      status(6, { planned: 2 }),
      ...bothDelivered,
      end(),
    );
    expect(texts(violations)).toEqual(['conservation: at 5 c had 1 recipients of 2']);
  });

  test('reports a recipient that is missing in the report, and counts that differ from the report', () => {
    const violations = violationsIn(
      ...bothSent,
      status(800, { deliveredToTerminal: 2 }),
      row(850, 1, ANN, 'deliveredToTerminal'),
      end(),
    );
    expect(texts(violations)).toEqual([
      `conservation: the report of c has 1 rows for 2 recipients; missing or repeated: ${BOB}`,
      'conservation: c counts 2 deliveredToTerminal, its report has 1',
    ]);
  });

  test('reports a missing report', () => {
    expect(texts(violationsIn(...bothSent, end()))).toEqual(['conservation: c has no report']);
  });
});

describe('quota', () => {
  const within = (quota: number, ...times: number[]) =>
    texts(violationsOf([run(quota), ...times.map((at) => (at % 2 === 0 ? send(at, ANN) : poll(at))), end()]));

  test('counts sends and polls together in every rolling window', () => {
    expect(within(2, 10, 51, 109)).toEqual(['quota: 3 requests of k in the 100 ms before 109, quota 2']);
    expect(within(2, 10, 51, 110)).toEqual([]);
  });

  test('counts requests that the service answered with 429', () => {
    const refused = send(20, BOB, { outcome: 'quotaExceeded', finals: [] });
    expect(texts(violationsOf([run(1), send(10, ANN), refused, end()]))).toHaveLength(1);
  });
});

describe('monotonicity', () => {
  test('reports a falling count of a final state', () => {
    const violations = violationsIn(
      ...bothSent,
      status(5, { deliveredToTerminal: 1, planned: 1 }),
      status(7, { deliveredToNetwork: 1, planned: 1 }),
      ...bothDelivered,
      end(),
    );
    expect(texts(violations)).toEqual(['monotonicity: deliveredToTerminal of c fell from 1 to 0 at 7']);
  });

  test('allows falling counts after a data loss of Redis', () => {
    const events = [
      status(5, { deliveredToTerminal: 1, planned: 1 }),
      fault(6, { fault: 'failover', losesData: true }),
      status(9, { planned: 2 }),
    ];
    expect(texts(violationsIn(...bothSent, ...events, ...bothDelivered, end()))).toEqual([]);
  });

  test('reports a recipient whose final state changed between two reports', () => {
    const violations = violationsIn(
      ...bothSent,
      row(5, 1, ANN, 'deliveryImpossible'),
      ...bothDelivered,
      end(),
    );
    expect(texts(violations)).toEqual([
      `monotonicity: ${ANN} of c changed from deliveryImpossible at 5 to deliveredToTerminal at 850`,
    ]);
  });

  test('reports a campaign that continues after it has ended', () => {
    const violations = violationsIn(
      ...bothSent,
      status(5, { deliveredToTerminal: 2 }, { state: 'cancelled', ended: true }),
      status(7, { deliveredToTerminal: 2 }, { state: 'running' }),
      ...bothDelivered,
      end(),
    );
    expect(texts(violations)).toEqual([
      'monotonicity: c changed from cancelled to running at 7',
      'monotonicity: c had ended but was no longer ended at 7',
    ]);
  });
});

describe('completeness', () => {
  const endedAs = (status: string, ...events: HistoryEvent[]) =>
    texts(
      violationsIn(
        send(20, BOB),
        ...events,
        row(850, 1, ANN, status),
        row(850, 1, BOB, 'deliveredToTerminal'),
        end(),
      ),
    );

  test('reports a recipient that is not settled', () => {
    for (const status of ['planned', 'sending', 'deliveredToNetwork'])
      expect(endedAs(status)).toEqual([
        `completeness: ${ANN} of c is ${status}: not settled; the service accepted it 0 times`,
      ]);
  });

  test('reports a delivery that was never accepted or that the service reports differently', () => {
    expect(endedAs('deliveredToTerminal')).toHaveLength(1);
    expect(endedAs('deliveryImpossible', send(10, ANN))).toEqual([
      `completeness: ${ANN} of c is deliveryImpossible: the service reports DeliveredToTerminal`,
    ]);
    expect(endedAs('unconfirmed')).toHaveLength(1);
  });

  test('reports an accepted recipient with a status that rules out an acceptance', () => {
    for (const status of ['rejected', 'suppressed', 'lapsed'])
      expect(endedAs(status, send(10, ANN))).toHaveLength(1);
    expect(endedAs('cancelled', send(10, ANN), command(5, 'cancel', { inFlight: 2 }))).toHaveLength(1);
    expect(endedAs('rejected')).toEqual([]);
  });

  test('reports cancelled and abandoned recipients without an operator command', () => {
    expect(endedAs('cancelled')).toHaveLength(1);
    expect(endedAs('abandoned')).toHaveLength(1);
    expect(endedAs('cancelled', command(30, 'cancel'))).toEqual([]);
    expect(endedAs('abandoned', command(30, 'abandon'))).toEqual([]);
  });

  test('reports more unknown outcomes than the faults explain', () => {
    expect(endedAs('unknown')).toEqual([
      'completeness: 1 unknown outcomes without a cause of their own; the faults explain at most 0',
    ]);
    expect(endedAs('unknown', fault(5, { mayBeUnknown: 1 }))).toEqual([]);
  });

  test('counts a request that was cut, or got no response in time, by its own cause', () => {
    const unknown = (request: string, cause: EventOf<'unknown'>['cause'], at = 10): HistoryEvent => ({
      type: 'unknown',
      at,
      request,
      cause,
    });
    const lost = (...causes: HistoryEvent[]) =>
      texts(
        violationsIn(
          ...causes,
          row(850, 1, ANN, 'unknown', { request: 'c-1' }),
          row(850, 1, BOB, 'unknown', { request: 'c-2' }),
          end(),
        ),
      );
    const oneLeft = [
      'completeness: 1 unknown outcomes without a cause of their own; the faults explain at most 0',
    ];
    const cut = (at: number) => fault(at, { fault: 'cutBefore', cuts: 1 });
    expect(lost(cut(5), cut(6), unknown('c-1', 'cut'), unknown('c-2', 'cut'))).toEqual([]);
    expect(lost(cut(5), unknown('c-1', 'cut'), unknown('c-2', 'timeout'))).toEqual([]);
    // One cut is the cause of one request, and of none before it.
    expect(lost(cut(5), unknown('c-1', 'cut'), unknown('c-2', 'cut'))).toEqual(oneLeft);
    expect(lost(cut(5), cut(20), unknown('c-1', 'cut'), unknown('c-2', 'cut'))).toEqual(oneLeft);
    expect(lost(cut(5), cut(6), unknown('c-1', 'cut'), unknown('c-2', 'other'))).toEqual(oneLeft);
    expect(lost(cut(5), cut(6), unknown('c-1', 'cut'))).toEqual(oneLeft);
  });

  test('reports a run that did not settle or did not end', () => {
    const stuck = end({ settled: false, reason: 'no progress' });
    expect(texts(violationsIn(...bothSent, ...bothDelivered, stuck))).toEqual([
      'completeness: the run did not settle: no progress',
    ]);
    expect(texts(violationsIn(...bothSent, ...bothDelivered))).toEqual(['completeness: the run did not end']);
  });
});

describe('pause means pause', () => {
  test('reports more sends after a pause than it reported as in flight', () => {
    const violations = violationsIn(
      command(5, 'pause', { inFlight: 1 }),
      ...bothSent,
      command(30, 'resume'),
      ...bothDelivered,
      end(),
    );
    expect(texts(violations)).toEqual([
      'pause means pause: 2 sends of c arrived after pause, which reported 1 in flight; ms later: +4 +14',
    ]);
  });

  test('counts sends after cancel, even if the service refused them', () => {
    const refused = send(10, ANN, { outcome: 'quotaExceeded', finals: [] });
    expect(violationsIn(command(5, 'cancel'), refused, end()).map(({ check }) => check)).toContain(
      'pause means pause',
    );
  });

  test('ignores a command that failed', () => {
    const violations = violationsIn(
      command(5, 'pause', { error: 'lost' }),
      ...bothSent,
      ...bothDelivered,
      end(),
    );
    expect(texts(violations)).toEqual([]);
  });
});

describe('a history file', () => {
  let folder = '';
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'volley-history-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  test('contains everything that the checks need', async () => {
    const events = [run(1), campaign, ...bothSent, fault(30), command(40, 'pause'), ...bothDelivered, end()];
    const path = join(folder, 'whole.ndjson');
    await writeHistory(path, events);
    expect(await readHistory(path)).toEqual(events);
    expect(violationsOf(await readHistory(path))).toEqual(violationsOf(events));
  });

  test('is rejected with the number of the invalid line', async () => {
    const path = join(folder, 'broken.ndjson');
    await writeFile(path, '{"type":"end","at":1,"settled":true,"reason":""}\n{"type":"nothing"}\n');
    await expect(readHistory(path)).rejects.toThrow(`${path}:2 is not a valid history event`);
  });
});
