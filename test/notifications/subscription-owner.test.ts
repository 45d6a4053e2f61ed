import { expect, test } from 'vitest';
import { redactedUrl } from '../../src/notifications/subscription-owner.js';

test('A redacted address contains no part that may be a secret', () => {
  expect(redactedUrl('https://a.example/hook/s3cret?token=x')).toBe('https://a.example/hook/…');
  expect(redactedUrl('https://a.example')).toBe('https://a.example/');
  expect(redactedUrl('nonsense')).toBe('…');
  expect(redactedUrl('https://a.example/hook/s3cret/')).toBe('https://a.example/hook/…');
  expect(redactedUrl('https://a.example/hook/s3cret//')).toBe('https://a.example/hook/…');
  expect(redactedUrl('https://user:s3cret@a.example/hook')).toBe('https://a.example/…');
  expect(redactedUrl(`https://a.example/${'s3cret'.repeat(8)}/hook/x`)).toBe('https://a.example/…/hook/…');
  expect(redactedUrl('mailto:s3cret@a.example')).toBe('…');
  const began = performance.now();
  expect(redactedUrl(`https://a.example/${'a'.repeat(1_000_000)}/`)).toBe('…');
  expect(performance.now() - began).toBeLessThan(1_000);
});
