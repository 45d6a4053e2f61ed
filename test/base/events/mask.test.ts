import { expect, test } from 'vitest';
import { createMask } from '../../../src/base/events/mask.js';

test('A secret that is hidden later is masked, also one that contains another', () => {
  const mask = createMask(['secret-of-main']);
  expect(mask.id('secret-of-main-and-more')).toBe('[secret]-and-more');
  mask.hide(['secret-of-main', 'secret-of-main-and-more']);
  expect(mask.id('secret-of-main-and-more')).toBe('[secret]');
  mask.hide(['secret of another']);
  expect(mask.prose('secret%20of%20another, secret-of-main')).toBe('[secret], [secret]');
});

test.each([
  ['447700900123-1', '…123-1'],
  ['sms_447700900123', 'sms_…123'],
  ['in:+447700900123', 'in:+44…123'],
  ['0f3a-77009001', '0f3a-…01'],
  ['m-17', 'm-17'],
  ['0b5e1f7a-3c2d-4e8f-9a1b-447700900123', '0b5e1f7a-3c2d-4e8f-9a1b-447700900123'],
])('An id of another system, %s, is logged without a phone number', (id, logged) => {
  expect(createMask().foreignId(id)).toBe(logged);
});
