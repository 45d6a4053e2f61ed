import { expect, test } from 'vitest';
import { rowError, rowProblem } from '../../../src/campaign/errors/error-item.js';

test.each([
  [
    ['phone', 'is empty; enter a number'],
    'It is empty; enter a number.',
    'line 12, column "phone" is empty; enter a number',
  ],
  [
    [null, 'has 4 fields, but the header has 3'],
    'It has 4 fields, but the header has 3.',
    'line 12 has 4 fields, but the header has 3',
  ],
  [
    ['phone', '"abc" is not a phone number'],
    '"abc" is not a phone number.',
    'line 12, column "phone": "abc" is not a phone number',
  ],
] as const)('A problem of a row is a sentence with a subject: %j', ([column, reason], message, sentence) => {
  const error = rowError({ code: 'row', line: 12, column, list: 'csv' }, reason);
  expect(error).toEqual({ code: 'row', pointer: '/recipients', message, line: 12, column });
  expect(rowProblem(error)).toBe(sentence);
});

test('The pointer to a row of an array names its member, as RFC 6901 spells it', () => {
  const at = (column: string | null): string =>
    rowError({ code: 'row', line: 3, column, list: 'array' }, 'is empty').pointer;
  expect(at('a/b~c')).toBe('/recipients/2/a~1b~0c');
  expect(at(null)).toBe('/recipients/2');
});

test('The pointer to a row that an earlier campaign gave names the member that asked for it', () => {
  const error = rowError({ code: 'row', line: 3, column: 'to', list: 'results' }, 'is empty');
  expect(error).toMatchObject({ pointer: '/toResultsOf', line: 3, column: 'to' });
});
