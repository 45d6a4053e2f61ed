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
