import { expect, test } from 'vitest';
import { tailOf, withoutNumber } from '../../../src/app/forget/places.js';

test.each([
  ['+447700900123', 'asked by 07700 900123 on the phone', 'asked by … on the phone'],
  ['+447700900123', '0044 (0) 7700-900-123, +447700900123', '…, …'],
  ['+4521976297', 'asked by 21 97 62 97 on the phone', 'asked by … on the phone'],
  ['+4521976297', '21976297 does not exist; nor does +4521976297', '… does not exist; nor does …'],
  ['+3546612345', 'no handset: 661 2345', 'no handset: …'],
  ['+2902345', '+2902345 and 2902345, order 02345', '… and …, order 02345'],
])('Of %s, nothing is left in %j', (number, text, after) => {
  expect(withoutNumber(text, number)).toBe(after);
});

test('Another number with the same end, and one that is part of a longer one, stay', () => {
  const others = '21976298, 219762970, and 1217';
  expect(withoutNumber(others, '+4521976297')).toBe(others);
});

test('The last digits of a number never include its calling code, unless it is very short', () => {
  const numbers = ['+447700900123', '+3546612345', '+2902345'];
  expect(numbers.map(tailOf)).toEqual(['00900123', '6612345', '2902345']);
});
