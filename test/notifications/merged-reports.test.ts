import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { DeliveryReport } from '../../src/gateway/notification.js';
import { fitting } from '../../src/notifications/match-batch.js';
import { gather, ownBatch } from '../../src/notifications/merged-reports.js';

const report = (
  requestId: string | null,
  number: string,
  status: DeliveryReport['status'],
  correlator: string | null = null,
): DeliveryReport => ({ requestId, sender: 'ACME', correlator, number, status });

test('reports of one request come together, and a final status beats what is not final in either order', () => {
  const gathered = gather([
    report('a', '+1001', 'DeliveredToTerminal'),
    report('b', '+1001', 'DeliveredToNetwork'),
    report('a', '+1001', 'DeliveredToNetwork'),
    report('a', '+1002', 'DeliveredToNetwork'),
    report('b', '+1001', 'DeliveryImpossible'),
  ]);
  expect(gathered.map(({ requestId, letters }) => [requestId, Object.fromEntries(letters)])).toEqual([
    ['a', { '+1001': 'T', '+1002': 'N' }],
    ['b', { '+1001': 'I' }],
  ]);
});

test('two final ones that differ are kept apart, so that the contradiction is seen', () => {
  const gathered = gather([
    report('a', '+1001', 'DeliveredToTerminal'),
    report('a', '+1001', 'DeliveryImpossible'),
    report('a', '+1001', 'DeliveredToTerminal'),
  ]);
  expect(gathered.map(({ letters }) => letters.get('+1001'))).toEqual(['T', 'I']);
});

test('what names no request is known by its correlator or not at all', () => {
  const gathered = gather([
    report(null, '+1001', 'DeliveredToTerminal', 'abc-7-1'),
    report(null, '+1002', 'DeliveredToTerminal'),
  ]);
  expect(gathered.map(({ requestId, correlator }) => [requestId, correlator])).toEqual([['', 'abc-7-1']]);
});

test('only a correlator as we write them names a batch', () => {
  expect(ownBatch('0mabc123-512-20')).toEqual({ campaign: '0mabc123', first: 512, count: 20 });
  for (const other of [null, '', '67893', 'a-b-c', '-1-1', 'x-1', 'a-1-99999', 'A-1-1\n']) {
    expect([other, ownBatch(other)]).toEqual([other, null]);
  }
});

test('however reports are dealt out, gathering them loses no final status', () => {
  const statuses = ['DeliveredToNetwork', 'DeliveredToTerminal', 'DeliveryImpossible'] as const;
  const any = fc.record({
    requestId: fc.constantFrom('a', 'b'),
    number: fc.constantFrom('+1001', '+1002'),
    status: fc.constantFrom(...statuses),
  });
  fc.assert(
    fc.property(fc.array(any, { maxLength: 12 }), (some) => {
      const gathered = gather(some.map(({ requestId, number, status }) => report(requestId, number, status)));
      for (const { requestId, number, status } of some) {
        const letters = gathered
          .filter((entry) => entry.requestId === requestId)
          .map((entry) => entry.letters.get(number));
        const letter = { DeliveredToNetwork: 'N', DeliveredToTerminal: 'T', DeliveryImpossible: 'I' }[status];
        if (letter === 'N') expect(letters.some((held) => held !== undefined)).toBe(true);
        else expect(letters).toContain(letter);
      }
    }),
  );
});

const CLAIMED = 1_000;
const batch = (number: number, sender: string, ...recipients: string[]) => ({
  number,
  campaign: 'c',
  first: number,
  sender,
  recipients,
  claimedAt: CLAIMED,
  suspect: null,
  isSettled: false,
});
const request = (requestId: string, sender: string | null, ...numbers: string[]) => ({
  requestId,
  sender,
  numbers,
  cameAt: CLAIMED + 1,
});
const paired = (...given: Parameters<typeof fitting>) =>
  fitting(...given).map((pair) => [pair.batch.number, pair.requestId]);

test('a request fits the one batch of its sender that has all its numbers', () => {
  const batches = [batch(1, 'ACME', '1001', '1002'), batch(2, 'OTHER', '1001'), batch(3, 'ACME', '1003')];
  expect(paired(batches, [request('x', 'ACME', '1001')])).toEqual([[1, 'x']]);
  expect(paired(batches, [request('x', 'ACME', '1001', '1002')])).toEqual([[1, 'x']]);
  expect(paired(batches, [request('x', 'ACME', '1001', '1003')])).toEqual([]);
  expect(paired(batches, [request('x', null, '1003')])).toEqual([[3, 'x']]);
  expect(paired(batches, [request('x', 'ACME', '1009'), request('y', 'ACME')])).toEqual([]);
});

test('nothing is paired where there is more than one way to', () => {
  const twice = [batch(1, 'ACME', '1001'), batch(2, 'ACME', '1001')];
  expect(paired(twice, [request('x', 'ACME', '1001')])).toEqual([]);
  expect(paired(twice.slice(1), [request('x', 'ACME', '1001'), request('y', 'ACME', '1001')])).toEqual([]);
  // One that may be of either speaks against both, whatever else fits one of them.
  const overlapping = [batch(1, 'ACME', '1001', '1002'), batch(2, 'ACME', '1001')];
  expect(paired(overlapping, [request('x', 'ACME', '1001'), request('y', 'ACME', '1002')])).toEqual([]);
});

test('what repeats our correlator is of the batch that this names, and of no other', () => {
  const twice = [batch(1, 'ACME', '1001'), batch(2, 'ACME', '1001')];
  const named = (requestId: string, first: number) => ({
    ...request(requestId, 'ACME', '1001'),
    named: { campaign: 'c', first },
  });
  expect(paired(twice, [named('x', 2)])).toEqual([[2, 'x']]);
  expect(paired(twice, [named('x', 2), named('y', 1)])).toEqual([
    [2, 'x'],
    [1, 'y'],
  ]);
  expect(paired(twice, [named('x', 3)])).toEqual([]);
});

test('what is asked about already is no pair, and speaks against others', () => {
  const [one, other] = [batch(1, 'ACME', '1001'), batch(2, 'ACME', '1001')];
  const asked = { ...one, suspect: 'x' };
  const x = request('x', 'ACME', '1001');
  expect(paired([asked, other], [x])).toEqual([]);
  expect(paired([asked, other], [x, request('y', 'ACME', '1001')])).toEqual([]);
  expect(paired([asked], [x])).toEqual([]);
  // One that fits another batch alone is asked about for that one only once it is known not to be the first one's.
  expect(paired([asked, batch(3, 'ACME', '1003')], [request('x', 'ACME', '1003')])).toEqual([]);
});

test('what was resolved without an answer is no pair either', () => {
  const resolved = { ...batch(1, 'ACME', '1001'), isSettled: true };
  expect(paired([resolved], [request('x', 'ACME', '1001')])).toEqual([]);
  expect(paired([resolved, batch(2, 'ACME', '1001')], [request('x', 'ACME', '1001')])).toEqual([]);
});

test('a request that was told of before a batch was claimed is not that batch', () => {
  const later = { ...batch(2, 'ACME', '1001'), claimedAt: CLAIMED + 2 };
  expect(paired([later], [request('x', 'ACME', '1001')])).toEqual([]);
  expect(paired([batch(1, 'ACME', '1001'), later], [request('x', 'ACME', '1001')])).toEqual([[1, 'x']]);
});
