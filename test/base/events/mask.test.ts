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
