import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { requestIdOf } from '../../src/gateway/request-id.js';

describe('requestIdOf', () => {
  it.each([
    ['https://host/smsmessaging/v1/outbound/tel%3A%2B3585/requests/abc-1', 'abc-1'],
    ['https://host/smsmessaging/v1/outbound/ACME/requests/abc-1/deliveryInfos', 'abc-1'],
    ['/outbound/ACME/requests/abc-1?x=/requests', 'abc-1'],
    ['/outbound/ACME/requests/abc-1#top', 'abc-1'],
    ['/outbound/requests/requests/abc-1', 'abc-1'],
    ['/outbound/ACME/requests/a%20b%2Fc', 'a b/c'],
    ['/outbound/ACME/requests/50%', '50%'],
  ])('finds the id in %s', (address, id) => {
    expect(requestIdOf(address)).toBe(id);
  });

  it.each([
    undefined,
    '',
    'https://host/outbound/ACME/requests',
    'https://host/outbound/ACME/requests/',
    'https://host/subscriptions/7',
    '/requests/.',
    '/requests/%2e%2E',
    '/requests/%20',
    `/requests/${'x'.repeat(600)}`,
  ])('finds none in %j', (address) => {
    expect(requestIdOf(address)).toBeNull();
  });

  it('finds none in half a character', () => {
    expect(requestIdOf(`/requests/${String.fromCharCode(0xd800)}`)).toBeNull();
  });

  it('finds nothing that could not stand as one segment of a path', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const id = requestIdOf(`/outbound/ACME/requests/${text}`);
        if (id === null) return;
        const path = `/requests/${encodeURIComponent(id)}/deliveryInfos`;
        expect(new URL(`http://h${path}`).pathname).toBe(path);
      }),
    );
  });
});
