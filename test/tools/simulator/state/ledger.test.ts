import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Accepted, Ledger } from '../../../../src/tools/simulator/state/ledger.js';

function request(numbers: readonly number[], text: string, correlator?: string): Omit<Accepted, 'requestId'> {
  return {
    at: 1_800_000_000_000,
    key: 'k',
    sender: 'ACME',
    senderName: undefined,
    text,
    parts: 1,
    correlator,
    callbackData: undefined,
    senderAddress: 'ACME',
    notifyUrl: undefined,
    asynchronous: false,
    finalDelivery: undefined,
    version: 'v1',
    answered: 'answered',
    pollable: true,
    recipients: numbers,
    fates: numbers.map(() => ({ delayMs: 5, final: 'delivered' as const })),
  };
}

it('The ledger returns every accepted request unchanged and counts repeated (number, text) pairs', () => {
  const number = fc.integer({ min: 4_790_000_000, max: 4_790_000_020 });
  const text = fc.oneof(
    fc.constantFrom('Hi', 'Hej', 'Grüße 🎉'),
    fc.string({ unit: 'grapheme', minLength: 1 }),
  );
  const requests = fc.array(fc.tuple(fc.array(number, { minLength: 1, maxLength: 4 }), text), {
    maxLength: 60,
  });
  fc.assert(
    fc.property(requests, (sent) => {
      const ledger = new Ledger('id');
      const pairs = new Map<string, number>();
      const ids = sent.map(([numbers, words]) => {
        for (const each of numbers) pairs.set(`${each} ${words}`, (pairs.get(`${each} ${words}`) ?? 0) + 1);
        return ledger.accept(request(numbers, words)).requestId;
      });
      const told = Array.from(ledger.entries(), ({ requestId, recipients, text: words }) => ({
        requestId,
        recipients,
        words,
      }));
      const expected = sent.map(([numbers, words], index) => ({
        requestId: ids[index],
        recipients: numbers.map((each) => `+${each}`),
        words,
      }));
      expect(told).toEqual(expected);
      expect(new Set(ids).size).toBe(sent.length);
      expect(ledger.recipients).toBe(sent.flatMap(([numbers]) => numbers).length);
      expect(ledger.duplicates).toBe([...pairs.values()].filter((times) => times > 1).length);
    }),
  );
});

it('The ledger finds a request only by its exact id', () => {
  const ledger = new Ledger('id');
  const id = ledger.accept(request([4_790_000_001], 'Hi')).requestId;
  expect(ledger.find(id)).toMatchObject({ sender: 'ACME', recipients: [4_790_000_001] });
  for (const other of [
    '',
    'id',
    'id-',
    `x${id}`,
    `${id} `,
    id.toUpperCase(),
    id.replace('id', 'ix'),
    `${id}0`,
    'id-000001',
  ]) {
    expect(ledger.find(other)).toBeUndefined();
  }
});

it('The ledger never reuses an id, even after it was cleared', () => {
  const ledger = new Ledger('id');
  const before = ledger.accept(request([4_790_000_001], 'Hi')).requestId;
  ledger.clear();
  const after = ledger.accept(request([4_790_000_001], 'Hi')).requestId;
  expect(after).not.toBe(before);
  expect(ledger.find(before)).toBeUndefined();
  expect(ledger.find(after)).toBeDefined();
  expect([ledger.requests, ledger.duplicates]).toEqual([1, 0]);
});

it('The ledger finds the first request of a correlator, separately for each key', () => {
  const ledger = new Ledger('id');
  const first = ledger.accept(request([4_790_000_001], 'Hi', 'c:1'));
  ledger.accept(request([4_790_000_001], 'Hi', 'c:1'));
  expect(ledger.findCorrelator('k', 'c:1')).toBe(first);
  expect(ledger.findCorrelator('another', 'c:1')).toBeUndefined();
  expect(ledger.findCorrelator('k', 'c:2')).toBeUndefined();
  expect(Array.from(ledger.entries(), ({ correlator }) => correlator)).toEqual(['c:1', 'c:1']);
});

/** Bytes of the heap that are in use. */
function heldByHeap(): number {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  if (typeof collect !== 'function') throw new Error('this Node cannot collect its garbage on demand');
  collect();
  collect();
  return process.memoryUsage().heapUsed;
}

it('The ledger takes at most 1,200 bytes for each of 100,000 requests with different texts', () => {
  const before = heldByHeap();
  const ledger = new Ledger('id');
  for (let index = 0; index < 100_000; index += 1) {
    const text = `Hi number ${index}, ${'your order is ready. '.repeat(4)}`;
    ledger.accept(request([4_740_000_000 + index], text, `correlator-${index}`));
  }
  const held = heldByHeap() - before;
  expect(ledger.requests).toBe(100_000);
  expect(held / 100_000).toBeLessThan(1_200);
});
