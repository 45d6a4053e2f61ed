import { expect, test } from 'vitest';
import { senderNumbers } from '../../../src/campaign/numbers/reply-sender.js';

test.each([
  '447700900123',
  '+447700900123',
  ' 447700900123',
  '00447700900123',
  '011447700900123',
  '+44 (0)7700 900-123',
  '44 7700 900123',
  '%2B447700900123',
  'tel:+447700900123',
  'tel:447700900123;phone-context=+44',
  'sip:+447700900123@example.net;user=phone',
  'whatsapp:+447700900123',
  '+447700900123/TYPE=PLMN',
  '\uff0b447700900123',
  '４４７７００９００１２３',
])('The sender %j is read without a country, and in every country', (spelling) => {
  for (const country of [undefined, 'GB', 'DK', 'US', 'MX'])
    expect(senderNumbers(spelling, country)).toEqual(['+447700900123']);
});

test.each([
  ['07700 900123', 'GB', ['+447700900123']],
  ['5215512345678', undefined, ['+525512345678']],
  ['+5215512345678', 'US', ['+525512345678']],
  ['551187654321', 'GB', ['+551187654321']],
  // A number that no plan knows is one, too: it is what the next reply comes from.
  ['+447700', undefined, []],
  ['+44770090', undefined, ['+44770090']],
  ['4477009001239', undefined, ['+4477009001239']],
  ['2901234', undefined, ['+2901234']],
  ['999999999999999', undefined, ['+999999999999999']],
  ['9999999999999999', undefined, []],
  // Which of both it is, the messages that were sent say.
  ['4520123456', 'US', ['+14520123456', '+4520123456']],
  ['07700 900123', undefined, []],
  ['80888', 'GB', []],
  ['ACME', 'GB', []],
  ['ACME 4477009001', 'GB', []],
  ['', 'GB', []],
])('The sender %j is read in %s as %j', (spelling, country, numbers) => {
  expect(senderNumbers(spelling, country)).toEqual(numbers);
});
