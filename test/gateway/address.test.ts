import { describe, expect, it } from 'vitest';
import { numberOf, telAddress } from '../../src/gateway/address.js';

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
  ])('knows +358401234567 spelled as %j', (address) => {
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

  it('undoes telAddress', () => {
    expect(numberOf(telAddress('+358401234567'))).toBe('+358401234567');
  });
});
