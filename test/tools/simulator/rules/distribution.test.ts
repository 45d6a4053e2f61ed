import { expect, it } from 'vitest';
import { distributionSchema, sample } from '../../../../src/tools/simulator/rules/distribution.js';
import { seededRandom } from '../../../../src/tools/simulator/rules/random.js';

const many = (given: unknown) => {
  const random = seededRandom(3);
  const distribution = distributionSchema.parse(given);
  return Array.from({ length: 20_000 }, () => sample(distribution, random)).sort((a, b) => a - b);
};

it('A number is a fixed time and draws no random number', () => {
  expect(sample(distributionSchema.parse(25), () => expect.fail('drew a random number'))).toBe(25);
});

it('Uniform times are spread evenly between their bounds', () => {
  const times = many({ kind: 'uniform', minMs: 100, maxMs: 300 });
  expect([times[0], times.at(-1)]).toEqual([100, 300]);
  expect(times[10_000]).toBeGreaterThan(195);
  expect(times[10_000]).toBeLessThan(205);
});

it('Lognormal times follow their median, spread, and bound', () => {
  const times = many({ kind: 'lognormal', medianMs: 1_000, sigma: 0.5, maxMs: 3_000 });
  expect(times[10_000] ?? 0).toBeCloseTo(1_000, -2);
  // 84.1 % lie below one standard deviation of the logarithm.
  expect((times[16_827] ?? 0) / (1_000 * Math.exp(0.5))).toBeCloseTo(1, 1);
  expect(times.at(-1)).toBe(3_000);
});
