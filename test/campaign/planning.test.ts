import { expect, it } from 'vitest';
import { requestsNeeded } from '../../src/campaign/planning.js';

it('puts as many recipients of a shared text into a request as the lane allows', () => {
  expect(requestsNeeded(1000, true, 100)).toBe(10);
  expect(requestsNeeded(1001, true, 100)).toBe(11);
  expect(requestsNeeded(7, true, 1)).toBe(7);
});

it('gives every recipient of a personalised text a request of its own', () => {
  expect(requestsNeeded(1001, false, 100)).toBe(1001);
});

it('needs no request for nobody', () => {
  expect(requestsNeeded(0, true, 100)).toBe(0);
});

it('refuses counts that are none', () => {
  expect(() => requestsNeeded(-1, true, 1)).toThrow(RangeError);
  expect(() => requestsNeeded(1.5, true, 1)).toThrow(RangeError);
  expect(() => requestsNeeded(1, true, 0)).toThrow(RangeError);
});
