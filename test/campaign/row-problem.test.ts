import { expect, test } from 'vitest';
import { rowProblem } from '../../src/campaign/row-problem.js';

test.each([
  [['phone', 'is empty; enter a number'], 'line 12, column "phone" is empty; enter a number'],
  [[null, 'has 4 fields, but the header has 3'], 'line 12 has 4 fields, but the header has 3'],
  [['phone', '"abc" is not a phone number'], 'line 12, column "phone": "abc" is not a phone number'],
] as const)('A problem of a row is a sentence with a subject: %j', ([column, reason], sentence) => {
  expect(rowProblem(12, column, reason)).toBe(sentence);
});
