import { expect, test } from 'vitest';
import { shown } from '../../src/notifications/callback-address.js';

test('an address is shown without what may be a secret in it', () => {
  expect(shown('https://a.example/hook/s3cret?token=x')).toBe('https://a.example/hook/…');
  expect(shown('https://a.example')).toBe('https://a.example/');
  expect(shown('nonsense')).toBe('…');
  expect(shown('https://a.example/hook/s3cret/')).toBe('https://a.example/hook/…');
  expect(shown('https://a.example/hook/s3cret//')).toBe('https://a.example/hook/…');
  expect(shown('https://user:s3cret@a.example/hook')).toBe('https://a.example/…');
  expect(shown(`https://a.example/${'s3cret'.repeat(8)}/hook/x`)).toBe('https://a.example/…/hook/…');
  expect(shown('mailto:s3cret@a.example')).toBe('…');
  const began = performance.now();
  expect(shown(`https://a.example/${'a'.repeat(1_000_000)}/`)).toBe('…');
  expect(performance.now() - began).toBeLessThan(1_000);
});
