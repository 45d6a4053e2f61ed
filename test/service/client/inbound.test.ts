import { expect, test } from 'vitest';
import { inboundIn } from '../../../src/service/client/inbound.js';

test.each([
  ['+447700900123', '+447700900123'],
  ['447700900123', '+447700900123'],
  ['tel:+447700900123', '+447700900123'],
  ['tel:%2B447700900123', '+447700900123'],
  ['00447700900123', '+447700900123'],
  ['+44 7700 900-123', '+447700900123'],
  ['+2901234', '+2901234'],
  ['123456', '123456'],
  ['tel:80888', '80888'],
  ['07700900123', '07700900123'],
  ['ACME', 'ACME'],
])('The sender %s of a message is read as %s', (senderAddress, from) => {
  const report = { messageId: 'm', senderAddress, destinationAddress: 'tel:80888', message: 'Stop' };
  expect(inboundIn({ InboundSmsMessage: report })).toEqual({
    messageId: 'm',
    from,
    to: '80888',
    text: 'Stop',
  });
});

test('Parts that no phone can number are no parts: each is a message of its own', () => {
  const report = { messageId: 'm', senderAddress: '+447700900123', destinationAddress: '1', message: 'Stop' };
  const partOf = (udhMessageId: number, concatPart: number, concatTotal: number) =>
    inboundIn({ ...report, udhMessageId, concatPart, concatTotal })?.part;
  expect(partOf(0, 255, 255)).toEqual({ reference: 0, number: 255, total: 255 });
  expect([partOf(0, 1, 256), partOf(0, 1, 1_000_000_000), partOf(0, 3, 2), partOf(0, 0, 2)]).toEqual(
    Array(4).fill(undefined),
  );
});

test('A message is read however the service writes digits, and whatever it says about parts', () => {
  const report = { messageId: 17, senderAddress: 447700900123, destinationAddress: 80888, message: 'Stop' };
  const read = { messageId: '17', from: '+447700900123', to: '80888', text: 'Stop' };
  expect(inboundIn({ ...report, udhMessageId: '7', concatPart: '1', concatTotal: '2' })).toEqual({
    ...read,
    part: { reference: 7, number: 1, total: 2 },
  });
  for (const concatTotal of ['', 'two', 1.5, {}, null])
    expect(inboundIn({ ...report, udhMessageId: 7, concatPart: 1, concatTotal })).toEqual(read);
  expect(inboundIn({ ...report, messageId: '' })).toBe(null);
});
