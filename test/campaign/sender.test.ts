import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkSender } from '../../src/campaign/sender.js';
import { senderSegment } from '../../src/gateway/address.js';

describe('checkSender', () => {
  it.each([
    '12345',
    '+358401234567',
    'tel:+358401234567',
    'tel:16100',
    '123456789012345',
    'tel:123456789012345',
  ])('accepts %j as a number', (sender) => {
    expect(checkSender(sender)).toEqual({ kind: 'number' });
  });

  it.each([
    'A',
    'ACME',
    'Abc def 123',
    'Ølkælderen',
    'ÄÖÑÜ§àèéùì',
    'ΔΦΓΛΩΠΨΣΘΞx',
    "O'Br & Co",
    'Caf[e]',
    '1€ shop',
  ])('accepts %j as a text', (sender) => {
    expect(checkSender(sender)).toEqual({ kind: 'text' });
  });

  it.each([
    ['', 'is empty'],
    [' ACME', 'remove it'],
    ['ACME ', 'remove it'],
    ['1234567890123456', 'has 16 characters: at most 15'],
    ['tel:1234567890123456', 'not counting "tel:"'],
    ['+358 40 123', 'as digits'],
    ['040-1234', 'as digits'],
    ['..', 'a name needs at least one letter'],
    ['tel:ACME', 'without "tel:"'],
    ['tel:', 'without "tel:"'],
    ['Twelve chars', 'takes 12 characters'],
    ['Ten chars[]', 'takes 13 characters'],
    ['Čapek', '"Č"'],
    ['Привет', '"П", "р", "и", "в", "е", "т"'],
    ['ACME 😀', '"😀"'],
    ['AC\nME', '"\\n"'],
    ['ACME\u00a0X', 'GSM 7-bit'],
  ])('rejects %j and says how to correct it: %s', (sender, words) => {
    expect(checkSender(sender)).toEqual({ kind: 'invalid', reason: expect.stringContaining(words) });
  });

  it('allows eleven characters and counts those of the extension table as two', () => {
    expect(checkSender('abcdefghijk').kind).toBe('text');
    expect(checkSender('abcdefghi€').kind).toBe('text');
    expect(checkSender('abcdefghij€').kind).toBe('invalid');
  });

  it('never throws, and an accepted sender makes a path segment that URL parsing leaves unchanged', () => {
    const gsm = fc.string({ unit: fc.constantFrom(...'aZ09 .,;:!?*()/\\\'"%&#+-_~@$£€[]{}|^=<>Øå') });
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), gsm), (sender) => {
        if (checkSender(sender).kind === 'invalid') return;
        const path = `/outbound/${senderSegment(sender)}/requests`;
        expect(new URL(`http://h${path}`).pathname).toBe(path);
        expect(decodeURIComponent(senderSegment(sender))).toBe(sender);
      }),
      { numRuns: 500 },
    );
  });
});
