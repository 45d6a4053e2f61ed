import { describe, expect, it, test } from 'vitest';
import type { Failure } from '../../../src/service/client/exchange.js';
import { failureReason, quoteOf, reasonOf } from '../../../src/service/client/reason.js';

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

const failure = (change: Partial<Failure>): Failure => ({
  kind: 'failure',
  cause: 'network',
  code: 'ECONNRESET',
  left: false,
  host: 'api.example:8443',
  ...change,
});

test.each([
  ['ENOTFOUND', 'cannot resolve host api.example (ENOTFOUND)'],
  ['EAI_AGAIN', 'cannot resolve host api.example: the name server does not answer (EAI_AGAIN)'],
  ['ECONNREFUSED', 'api.example:8443 refuses connections (ECONNREFUSED)'],
  ['ECONNRESET', 'the connection to api.example:8443 was reset (ECONNRESET)'],
  ['EHOSTUNREACH', 'api.example:8443 cannot be reached (EHOSTUNREACH)'],
  ['ETIMEDOUT', 'api.example:8443 does not accept the connection in time (ETIMEDOUT)'],
  ['CERT_HAS_EXPIRED', 'the certificate of api.example has expired (CERT_HAS_EXPIRED)'],
  ['CERT_NOT_YET_VALID', 'the certificate of api.example is not valid yet (CERT_NOT_YET_VALID)'],
  ['SELF_SIGNED_CERT_IN_CHAIN', 'the certificate of api.example is self-signed (SELF_SIGNED_CERT_IN_CHAIN)'],
  [
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    'the certificate of api.example is not signed by a trusted authority (UNABLE_TO_VERIFY_LEAF_SIGNATURE)',
  ],
  [
    'ERR_TLS_CERT_ALTNAME_INVALID',
    'the certificate is not valid for api.example (ERR_TLS_CERT_ALTNAME_INVALID)',
  ],
  [
    'ERR_SSL_WRONG_VERSION_NUMBER',
    'the TLS handshake with api.example:8443 failed (ERR_SSL_WRONG_VERSION_NUMBER)',
  ],
  ['HPE_INVALID_CONSTANT', 'the connection to api.example:8443 failed (HPE_INVALID_CONSTANT)'],
])('a connection that fails with %s is explained', (code, reason) => {
  expect(failureReason(failure({ code }))).toBe(reason);
});

test('an expired certificate is reported with its date', () => {
  expect(failureReason(failure({ code: 'CERT_HAS_EXPIRED', certificateExpiredOn: '2026-01-02' }))).toBe(
    'the certificate of api.example expired on 2026-01-02 (CERT_HAS_EXPIRED)',
  );
});

test('a timeout or a cancellation is reported with whether the request was sent', () => {
  const reasons = (['timeout', 'aborted'] as const).flatMap((cause) =>
    [false, true].map((left) => failureReason(failure({ cause, left }))),
  );
  expect(reasons).toEqual([
    'the request timed out before it was sent',
    'no response within the request timeout',
    'the request was cancelled before it was sent',
    'the request was cancelled',
  ]);
});
