import { expect, test } from 'vitest';
import { uniqueMatches } from '../../../src/engine/notifications/matching.js';

const CLAIMED = 1_000;
const batch = (number: number, sender: string, ...recipients: string[]) => ({
  number,
  campaign: 'c',
  owner: 'c',
  first: number,
  sender,
  recipients,
  claimedAt: CLAIMED,
  matchedRequestId: null,
  isSettled: false,
});
const request = (requestId: string, sender: string | null, ...numbers: string[]) => ({
  requestId,
  sender,
  numbers,
  receivedAt: CLAIMED + 1,
});
const matched = (...args: Parameters<typeof uniqueMatches>) =>
  uniqueMatches(...args).map((pair) => [pair.batch.number, pair.requestId]);

test('A request matches the one batch of its sender that has all its numbers', () => {
  const batches = [batch(1, 'ACME', '1001', '1002'), batch(2, 'OTHER', '1001'), batch(3, 'ACME', '1003')];
  expect(matched(batches, [request('x', 'ACME', '1001')])).toEqual([[1, 'x']]);
  expect(matched(batches, [request('x', 'ACME', '1001', '1002')])).toEqual([[1, 'x']]);
  expect(matched(batches, [request('x', 'ACME', '1001', '1003')])).toEqual([]);
  expect(matched(batches, [request('x', null, '1003')])).toEqual([[3, 'x']]);
  expect(matched(batches, [request('x', 'ACME', '1009'), request('y', 'ACME')])).toEqual([]);
});

test('A request that fits two batches, or a batch that fits two requests, is not matched', () => {
  const twice = [batch(1, 'ACME', '1001'), batch(2, 'ACME', '1001')];
  expect(matched(twice, [request('x', 'ACME', '1001')])).toEqual([]);
  expect(matched(twice.slice(1), [request('x', 'ACME', '1001'), request('y', 'ACME', '1001')])).toEqual([]);
  // A request that fits both batches rules out both, whatever else fits one of them.
  const overlapping = [batch(1, 'ACME', '1001', '1002'), batch(2, 'ACME', '1001')];
  expect(matched(overlapping, [request('x', 'ACME', '1001'), request('y', 'ACME', '1002')])).toEqual([]);
});

test('A request with our correlator matches the batch that it names and no other', () => {
  const twice = [batch(1, 'ACME', '1001'), batch(2, 'ACME', '1001')];
  const correlated = (requestId: string, first: number) => ({
    ...request(requestId, 'ACME', '1001'),
    correlated: { owner: 'c', first },
  });
  expect(matched(twice, [correlated('x', 2)])).toEqual([[2, 'x']]);
  expect(matched(twice, [correlated('x', 2), correlated('y', 1)])).toEqual([
    [2, 'x'],
    [1, 'y'],
  ]);
  expect(matched(twice, [correlated('x', 3)])).toEqual([]);
});

test('A batch that is matched already is not matched again, and rules out others', () => {
  const [one, other] = [batch(1, 'ACME', '1001'), batch(2, 'ACME', '1001')];
  const busy = { ...one, matchedRequestId: 'x' };
  const x = request('x', 'ACME', '1001');
  expect(matched([busy, other], [x])).toEqual([]);
  expect(matched([busy, other], [x, request('y', 'ACME', '1001')])).toEqual([]);
  expect(matched([busy], [x])).toEqual([]);
  // A request that is matched to one batch is matched to another one only after the first match is cleared.
  expect(matched([busy, batch(3, 'ACME', '1003')], [request('x', 'ACME', '1003')])).toEqual([]);
});

test('A batch that was settled without the id of its request is not matched, and rules out others', () => {
  const resolved = { ...batch(1, 'ACME', '1001'), isSettled: true };
  expect(matched([resolved], [request('x', 'ACME', '1001')])).toEqual([]);
  expect(matched([resolved, batch(2, 'ACME', '1001')], [request('x', 'ACME', '1001')])).toEqual([]);
});

test('A request that was reported before a batch was claimed does not match it', () => {
  const later = { ...batch(2, 'ACME', '1001'), claimedAt: CLAIMED + 2 };
  expect(matched([later], [request('x', 'ACME', '1001')])).toEqual([]);
  expect(matched([batch(1, 'ACME', '1001'), later], [request('x', 'ACME', '1001')])).toEqual([[1, 'x']]);
});
