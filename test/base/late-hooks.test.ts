import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';

let inHook: unknown;
beforeAll(() => {
  try {
    afterAll(() => {});
  } catch (error) {
    inHook = error;
  }
});

test('A hook that Vitest would ignore is an error, in a test and in another hook', () => {
  const ignored = 'Vitest would ignore this';
  expect(() => afterAll(() => {})).toThrow(`${ignored} afterAll: call it at the top level of the file`);
  expect(() => afterEach(() => {})).toThrow(ignored);
  expect(String(inHook)).toContain(ignored);
});
