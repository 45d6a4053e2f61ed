import fc from 'fast-check';
import { expect, test } from 'vitest';
import { batchOfCorrelator } from '../../../src/engine/notifications/batch-lookup.js';
import { mergeReports } from '../../../src/engine/notifications/settle-reports.js';
import type { DeliveryReport } from '../../../src/service/client/notification.js';

const report = (
  requestId: string | null,
  number: string,
  status: DeliveryReport['status'],
  correlator: string | null = null,
): DeliveryReport => ({ requestId, sender: 'ACME', correlator, number, status });

test('Reports of one request are merged, and a final status replaces a status that is not final in either order', () => {
  const merged = mergeReports([
    report('a', '+1001', 'DeliveredToTerminal'),
    report('b', '+1001', 'DeliveredToNetwork'),
    report('a', '+1001', 'DeliveredToNetwork'),
    report('a', '+1002', 'DeliveredToNetwork'),
    report('b', '+1001', 'DeliveryImpossible'),
  ]);
  expect(merged.map(({ requestId, letters }) => [requestId, Object.fromEntries(letters)])).toEqual([
    ['a', { '+1001': 'T', '+1002': 'N' }],
    ['b', { '+1001': 'I' }],
  ]);
});

test('Two final statuses that contradict each other stay apart, so that the contradiction is counted', () => {
  const merged = mergeReports([
    report('a', '+1001', 'DeliveredToTerminal'),
    report('a', '+1001', 'DeliveryImpossible'),
    report('a', '+1001', 'DeliveredToTerminal'),
  ]);
  expect(merged.map(({ letters }) => letters.get('+1001'))).toEqual(['T', 'I']);
});

test('A status that the service cannot determine replaces one that is not final, and gives way to one that is', () => {
  const merged = mergeReports([
    report('a', '+1001', 'DeliveryUncertain'),
    report('a', '+1001', 'DeliveredToNetwork'),
    report('b', '+1001', 'DeliveryUncertain'),
    report('b', '+1001', 'DeliveryImpossible'),
    report('b', '+1001', 'DeliveryUncertain'),
  ]);
  expect(merged.map(({ requestId, letters }) => [requestId, Object.fromEntries(letters)])).toEqual([
    ['a', { '+1001': 'C' }],
    ['b', { '+1001': 'I' }],
  ]);
});

test('A report without a request id is identified by its correlator, or dropped', () => {
  const merged = mergeReports([
    report(null, '+1001', 'DeliveredToTerminal', 'abc-7-1'),
    report(null, '+1002', 'DeliveredToTerminal'),
  ]);
  expect(merged.map(({ requestId, correlator }) => [requestId, correlator])).toEqual([['', 'abc-7-1']]);
});

test('Only a correlator in our own format names a batch', () => {
  expect(batchOfCorrelator('0mabc123-512-20')).toEqual({ campaign: '0mabc123', first: 512, count: 20 });
  for (const other of [null, '', '67893', 'a-b-c', '-1-1', 'x-1', 'a-1-99999', 'A-1-1\n']) {
    expect([other, batchOfCorrelator(other)]).toEqual([other, null]);
  }
});

test('Merging loses no final status, whatever the reports and their order', () => {
  const statuses = ['DeliveredToNetwork', 'DeliveredToTerminal', 'DeliveryImpossible'] as const;
  const any = fc.record({
    requestId: fc.constantFrom('a', 'b'),
    number: fc.constantFrom('+1001', '+1002'),
    status: fc.constantFrom(...statuses),
  });
  fc.assert(
    fc.property(fc.array(any, { maxLength: 12 }), (some) => {
      const merged = mergeReports(
        some.map(({ requestId, number, status }) => report(requestId, number, status)),
      );
      for (const { requestId, number, status } of some) {
        const letters = merged
          .filter((entry) => entry.requestId === requestId)
          .map((entry) => entry.letters.get(number));
        const letter = { DeliveredToNetwork: 'N', DeliveredToTerminal: 'T', DeliveryImpossible: 'I' }[status];
        if (letter === 'N') expect(letters.some((held) => held !== undefined)).toBe(true);
        else expect(letters).toContain(letter);
      }
    }),
  );
});
