import fc from 'fast-check';
import { Options, RequestError } from 'got';
import { describe, expect, it } from 'vitest';
import { AbortedError, exchangeOf } from '../../../src/service/client/exchange.js';

describe('exchangeOf', () => {
  it('treats a request that failed with an unknown error as one that may have left', () => {
    fc.assert(
      fc.property(fc.anything(), (thrown) => {
        expect(exchangeOf(thrown)).toMatchObject({ kind: 'failure', left: true });
      }),
    );
    expect(exchangeOf(new TypeError('x'))).toEqual({
      kind: 'failure',
      cause: 'network',
      code: 'TypeError',
      left: true,
    });
  });

  it('knows that a request that was never created has not left', () => {
    const error = new RequestError('Invalid character', { code: 'ERR_INVALID_CHAR' }, new Options());
    expect(exchangeOf(error)).toEqual({
      kind: 'failure',
      cause: 'unsendable',
      code: 'ERR_INVALID_CHAR',
      left: false,
    });
    expect(exchangeOf(new AbortedError())).toMatchObject({ cause: 'aborted', left: false });
  });
});
