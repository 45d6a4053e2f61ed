import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Acceptance, Ledger } from '../../../src/tools/simulator/ledger.js';
import { StringTable } from '../../../src/tools/simulator/string-table.js';

function acceptance(numbers: readonly number[], text: string, correlator?: string): Acceptance {
  return {
    at: 1_800_000_000_000,
    key: { index: 0, name: 'k' },
    sender: 'ACME',
    senderName: undefined,
    text,
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
      const ledger = new Ledger({ idPrefix: 'id', firstNumber: 0 });
      const pairs = new Map<string, number>();
      const ids = sent.map(([numbers, words]) => {
        for (const each of numbers) pairs.set(`${each} ${words}`, (pairs.get(`${each} ${words}`) ?? 0) + 1);
        return ledger.accept(acceptance(numbers, words));
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
  const ledger = new Ledger({ idPrefix: 'id', firstNumber: 0 });
  const id = ledger.accept(acceptance([4_790_000_001], 'Hi'));
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
  const ledger = new Ledger({ idPrefix: 'id', firstNumber: 0 });
  const before = ledger.accept(acceptance([4_790_000_001], 'Hi'));
  ledger.clear();
  const after = ledger.accept(acceptance([4_790_000_001], 'Hi'));
  expect(after).not.toBe(before);
  expect(ledger.find(before)).toBeUndefined();
  expect(ledger.find(after)).toBeDefined();
  expect([ledger.requests, ledger.duplicates]).toEqual([1, 0]);
});

it('The ledger finds the first request of a correlator, separately for each key', () => {
  const ledger = new Ledger({ idPrefix: 'id', firstNumber: 0 });
  const first = ledger.accept(acceptance([4_790_000_001], 'Hi', 'c:1'));
  ledger.accept(acceptance([4_790_000_001], 'Hi', 'c:1'));
  expect(ledger.findCorrelator(0, 'c:1')).toBe(first);
  expect(ledger.findCorrelator(1, 'c:1')).toBeUndefined();
  expect(ledger.findCorrelator(0, 'c:2')).toBeUndefined();
  expect(Array.from(ledger.entries(), ({ correlator }) => correlator)).toEqual(['c:1', 'c:1']);
});

it('The string table stores each distinct string once, over many chunks', () => {
  const table = new StringTable();
  const text = (index: number) => `${index} ${'long text '.repeat(40)}`;
  for (let round = 0; round < 2; round += 1) {
    const numbers = Array.from({ length: 30_000 }, (_, index) => table.intern(text(index)));
    expect(numbers.every((number, index) => number === index)).toBe(true);
  }
  expect(table.size).toBe(30_000);
  expect(table.at(29_999)).toBe(text(29_999));
  expect(table.find(text(12_345))).toBe(12_345);
  expect(table.find('never seen')).toBeUndefined();
});

/**
 * Bytes of the buffers that are in use: without a collection first, those a growing table left behind would count. What
 * one collection finds to be garbage is given back beside the program, at the latest when the next one begins.
 */
function heldByBuffers(): number {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  if (typeof collect !== 'function') throw new Error('this Node cannot collect its garbage on demand');
  collect();
  collect();
  return process.memoryUsage().arrayBuffers;
}

it('The ledger stores 100,000 requests with different texts in less than 300 bytes each', () => {
  const before = heldByBuffers();
  const ledger = new Ledger({ idPrefix: 'id', firstNumber: 0 });
  for (let index = 0; index < 100_000; index += 1) {
    ledger.accept(
      acceptance([4_740_000_000 + index], `Hi number ${index}, ${'your order is ready. '.repeat(4)}`),
    );
  }
  const held = heldByBuffers() - before;
  expect(ledger.requests).toBe(100_000);
  expect(held / 100_000).toBeLessThan(300);
});
