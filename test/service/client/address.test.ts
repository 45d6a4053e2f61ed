import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { numberOf, requestIdOf, senderSegment, telAddress } from '../../../src/service/client/address.js';

describe('numberOf', () => {
  it.each([
    'tel:+358401234567',
    '+358401234567',
    '358401234567',
    '00358401234567',
    'tel:358401234567',
    'TEL:+358401234567',
    'tel: 358401234567',
    ' +358401234567 ',
    'tel%3A%2B358401234567',
    'tel%3a%2b358401234567',
    'tel:+358 40 123 4567',
    'tel:+358-40-1234567',
    '+358 (40) 123.4567',
    'tel:+358401234567;phone-context=x',
  ])('reads +358401234567 from %j', (address) => {
    expect(numberOf(address)).toBe('+358401234567');
  });

  it.each([
    '',
    'tel:',
    'tel:ACME',
    '+0401234567',
    '+3584012345678901',
    'sip:+358401234567',
    '%',
    '+-()',
    ';',
    '+358;401234567',
  ])('finds no number in %j', (address) => {
    expect(numberOf(address)).toBeNull();
  });

  it('is the inverse of telAddress', () => {
    expect(numberOf(telAddress('+358401234567'))).toBe('+358401234567');
  });
});

describe('senderSegment', () => {
  it.each([
    ['tel:+358401234567', 'tel%3A%2B358401234567'],
    ['AB CD', 'AB%20CD'],
    ["!'()*", '%21%27%28%29%2A'],
    ['a/b?c#d', 'a%2Fb%3Fc%23d'],
    ['Ø', '%C3%98'],
  ])('encodes %j as %s', (sender, segment) => {
    expect(senderSegment(sender)).toBe(segment);
  });
});

describe('requestIdOf', () => {
  it.each([
    ['https://host/smsmessaging/v1/outbound/tel%3A%2B3585/requests/abc-1', 'abc-1'],
    ['https://host/smsmessaging/v1/outbound/ACME/requests/abc-1/deliveryInfos', 'abc-1'],
    ['/outbound/ACME/requests/abc-1?x=/requests', 'abc-1'],
    ['/outbound/ACME/requests/abc-1#top', 'abc-1'],
    ['/outbound/requests/requests/abc-1', 'abc-1'],
    ['/outbound/ACME/requests/a%20b%2Fc', 'a b/c'],
    ['/outbound/ACME/requests/50%', '50%'],
  ])('reads the id from %s', (address, id) => {
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
  ])('finds no id in %j', (address) => {
    expect(requestIdOf(address)).toBeNull();
  });

  it('finds no id in a lone surrogate', () => {
    expect(requestIdOf(`/requests/${String.fromCharCode(0xd800)}`)).toBeNull();
  });

  it('returns only ids that can be one path segment', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const id = requestIdOf(`/outbound/ACME/requests/${text}`);
        fc.pre(id !== null);
        const path = `/requests/${encodeURIComponent(id)}/deliveryInfos`;
        expect(new URL(`http://h${path}`).pathname).toBe(path);
      }),
    );
  });
});
