import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkSender } from '../../../src/campaign/text/sender.js';
import { senderSegment } from '../../../src/service/client/address.js';
import { codePoint } from '../../base/code-point.js';

// The cases of the rule: test/interface/senders.ts.
describe('checkSender', () => {
  it('names every character outside the alphabet once', () => {
    expect(checkSender('Привет')).toEqual({
      kind: 'invalid',
      reason: expect.stringContaining('"П", "р", "и", "в", "е", "т"'),
    });
  });

  it('never throws, and an accepted sender makes a path segment that URL parsing leaves unchanged', () => {
    const gsm = fc.string({ unit: fc.constantFrom(...'aZ09 .,;:!?*()/\\\'"%&#+-_~@$£€[]{}|^=<>Øå') });
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: codePoint }), gsm), (sender) => {
        fc.pre(checkSender(sender).kind !== 'invalid');
        const path = `/outbound/${senderSegment(sender)}/requests`;
        expect(new URL(`http://h${path}`).pathname).toBe(path);
        expect(decodeURIComponent(senderSegment(sender))).toBe(sender);
      }),
      { numRuns: 500 },
    );
  });
});
