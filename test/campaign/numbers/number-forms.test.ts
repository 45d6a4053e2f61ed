import { expect, test } from 'vitest';
import {
  callableForm,
  formsOf,
  possibleFormsOf,
  subscriberOf,
} from '../../../src/campaign/numbers/number-forms.js';

/** The number that a network may report, that of today, and whether both are certainly those of one subscriber. */
const PAIRS = [
  ['+5215512345678', '+525512345678', true],
  ['+5216641234567', '+526641234567', true],
  ['+551187654321', '+5511987654321', true],
  ['+558699998888', '+5586999998888', true],
  ['+541123456789', '+5491123456789', false],
  ['+542214567890', '+5492214567890', false],
] as const;

test.each(PAIRS)(
  '%s and %s are found from each other, and the second stands for both only if certain: %s',
  (former, current, isCertain) => {
    expect([possibleFormsOf(former), possibleFormsOf(current)]).toEqual([
      [former, current],
      [current, former],
    ]);
    expect([formsOf(former), formsOf(current)]).toEqual(
      isCertain
        ? [
            [former, current],
            [current, former],
          ]
        : [[former], [current]],
    );
    expect([former, current].map(subscriberOf)).toEqual([isCertain ? current : former, current]);
  },
);

test.each([
  ['a Brazilian landline', '+551132654321'],
  ['a Brazilian landline that begins with 5', '+551152654321'],
  ['a Brazilian mobile number that never had eight digits', '+5511952654321'],
  ['a Brazilian number without an area code', '+55987654321'],
  ['a toll-free number of Argentina', '+548001234567'],
  ['a Mexican number with a digit too many', '+52155123456789'],
  ['a British number', '+447700900123'],
  ['a number of the US that looks Mexican behind its calling code', '+15215512345'],
  ['a Peruvian number, whose calling code begins alike', '+51987654321'],
  ['a number of no country', '+5'],
])('%s, %s, has no other form', (_, number) => {
  expect([possibleFormsOf(number), formsOf(number)]).toEqual([[number], [number]]);
  expect([subscriberOf(number), callableForm(number)]).toEqual([number, number]);
});

test('A list that has a number which cannot be called any more means that of today', () => {
  expect(['+5215512345678', '+551187654321', '+541123456789'].map(callableForm)).toEqual([
    '+525512345678',
    '+551187654321',
    '+541123456789',
  ]);
});
