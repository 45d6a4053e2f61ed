import { describe, expect, it } from 'vitest';
import { quoteOf, reasonOf } from '../../src/gateway/reason.js';

describe('quoteOf', () => {
  it.each([
    ['call +358401234567 now', 'call … now'],
    ['call 358 40 123 4567 now', 'call … now'],
    ['call (040) 123-4567 now', 'call (… now'],
    ['error 10126 at line 7', 'error 10126 at line 7'],
    ['Authorization: Bearer abc', 'Authorization: …'],
    ['token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln is old', 'token … is old'],
    ['<html><b>Not\n found</b></html>', 'Not found'],
    ['an_ordinary_word_of_some_length', 'an_ordinary_word_of_some_length'],
  ])('quotes %j as %j', (text, quote) => {
    expect(quoteOf(text)).toBe(quote);
  });

  it('removes secrets, in plain text and escaped as in JSON', () => {
    expect(quoteOf('got "say \\"hi\\"" and say "hi"', ['say "hi"'])).toBe('got "…" and …');
  });

  it('has at most 200 characters', () => {
    expect(quoteOf('word '.repeat(1000))).toHaveLength(200);
    expect(reasonOf('It failed.', 'word '.repeat(1000))).toHaveLength(200);
  });

  it('adds nothing to the sentence if the service sent no message', () => {
    expect(reasonOf('It failed.', ' \n')).toBe('It failed.');
  });
});
