import { describe, expect, test } from 'vitest';
import { PROFILES } from '../../../src/base/profiles/index.js';
import type { Reply } from '../../../src/service/client/exchange.js';
import { pollOutcome, sendOutcome } from '../../../src/service/client/outcome.js';

const [ADA, BEN] = ['+358401234567', '+358401234568'];
const reading = { now: 0, secrets: [] };

type Exception = 'serviceException' | 'policyException';

/** The response to a request that the service refuses with this error. */
function refused(
  status: number,
  messageId: string,
  variables: unknown = [],
  text = '',
  exception: Exception = 'serviceException',
): Reply {
  const body = JSON.stringify({ requestError: { [exception]: { messageId, text, variables } } });
  return { kind: 'reply', status, statusText: '', headers: {}, body };
}
const sent = (reply: Reply, recipients: readonly string[] = [ADA, BEN]) =>
  sendOutcome(reply, { recipients, clientCorrelator: 'c-0-2' }, reading);

/** Each row of the table of codes with the outcome of a send, written independently of the code. */
const SENDS: readonly (readonly [number, string, unknown, object])[] = [
  [400, 'SVC0001', ['x'], { kind: 'unknown', isAnswered: true }],
  [400, 'SVC0002', ['senderAddress'], { kind: 'stopped', isAccount: true }],
  [400, 'SVC0002', ['clientCorrelator'], { kind: 'stopped', isAccount: true }],
  [400, 'SVC0002', 'senderName', { kind: 'stopped', isAccount: true }],
  [400, 'SVC0002', ['outboundSMSTextMessage'], { kind: 'refused', isText: true }],
  [403, 'SVC0002', ['address'], { kind: 'refused' }],
  [400, 'SVC0002', ['something'], { kind: 'refused' }],
  [403, 'SVC0002', ['something'], { kind: 'stopped' }],
  [400, 'SVC0003', ['message', 'address'], { kind: 'refused', isText: true }],
  [404, 'SVC0004', ['address'], { kind: 'refused' }],
  [400, 'SVC0004', 'senderAddress', { kind: 'stopped', isAccount: true }],
  [400, 'SVC0004', [`tel:${BEN}`], { kind: 'refused', recipients: [BEN] }],
  [400, 'SVC0004', `tel:${ADA}`, { kind: 'refused', recipients: [ADA] }],
  [400, 'SVC0284', [], { kind: 'refused' }],
  [403, 'POL0255', [], { kind: 'refused' }],
  [400, 'SVC0005', ['c-0-2'], { kind: 'unknown', isFinal: true, isKnown: true }],
  [409, 'SVC0005', ['c-0-2'], { kind: 'unknown', isFinal: true, isKnown: true }],
  [500, 'SVC0005', ['c-0-2'], { kind: 'unknown', isFinal: true, isKnown: true }],
  [200, 'SVC0005', ['c-0-2'], { kind: 'unknown', isFinal: true, isKnown: true }],
  [403, 'SVC0280', [], { kind: 'refused', isText: true }],
  [400, 'SVC0283', [], { kind: 'refused' }],
  [400, 'SCV0283', [], { kind: 'refused' }],
  [400, 'SVC0285', [], { kind: 'unknown' }],
  [403, 'POL0257', [], { kind: 'unknown' }],
  [503, 'SVC1000', [], { kind: 'unknown' }],
  [400, 'SVC1000', [], { kind: 'unknown' }],
  [403, 'POL0001', ['Not enough credit'], { kind: 'stopped', isAccount: true }],
  [403, 'POL0001', 'Expired contract', { kind: 'stopped', isAccount: true }],
  [400, 'POL0001', ['Number in blacklist'], { kind: 'refused' }],
  [403, 'POL0001', ['7'], { kind: 'stopped' }],
  [403, 'POL0002', [], { kind: 'refused' }],
  [403, 'POL0003', [], { kind: 'refused' }],
  [400, 'POL0013', [], { kind: 'refused' }],
  [403, 'POL0299', [], { kind: 'stopped' }],
  [403, 'POL1009', [], { kind: 'stopped', isAccount: true }],
  [403, 'POL1010', [], { kind: 'stopped', isAccount: true }],
  [403, 'POL3003', [], { kind: 'throttled' }],
  [403, 'POL3006', [], { kind: 'refused' }],
  [403, 'POL3007', [], { kind: 'refused' }],
  [403, 'POL3101', [], { kind: 'refused' }],
  // A status that says more than the code.
  [429, 'POL0001', ['7'], { kind: 'throttled' }],
  [401, 'POL1010', [], { kind: 'unauthorised' }],
  [500, 'POL0002', [], { kind: 'unknown' }],
  // A code that the table does not have.
  [400, 'SVC9999', [], { kind: 'refused' }],
  [403, 'toString', [], { kind: 'stopped' }],
];

describe('An error code of the OneAPI family decides the outcome of a send before the status:', () => {
  test.each(SENDS)('%i %s %j', (status, code, variables, outcome) => {
    for (const exception of ['serviceException', 'policyException'] as const) {
      const found = sent(refused(status, code, variables, '', exception));
      const {
        reason: _,
        retryAfterMs: __,
        message: ___,
        ...decided
      } = {
        reason: '',
        retryAfterMs: null,
        message: '',
        ...found,
      };
      expect(decided).toEqual(decided.kind === 'unknown' ? expect.objectContaining(outcome) : outcome);
    }
  });

  test('Version 3 may have sent the other messages of a batch with a bad recipient', () => {
    const reply = refused(400, 'SVC0004', [`tel:${BEN}`]);
    const v3 = { ...reading, profile: PROFILES.v3 };
    const outcome = (recipients: readonly string[]) => sendOutcome(reply, { recipients }, v3).kind;
    expect([outcome([ADA, BEN]), outcome([BEN])]).toEqual(['unknown', 'refused']);
  });

  test('A code with spaces or small letters is the same code', () => {
    expect(sent(refused(400, ' svc0005 '))).toMatchObject({ kind: 'unknown', isKnown: true });
  });

  test('An error about all recipients of a request names none of them', () => {
    const outcome = sent(refused(400, 'SVC0004', [`tel:${ADA}`]), [ADA]);
    expect(outcome).toEqual({ kind: 'refused', reason: expect.stringContaining('refuses a recipient') });
  });

  test('The reason says that the service knows the correlator', () => {
    expect(sent(refused(400, 'SVC0005', [], 'duplicate'))).toMatchObject({
      reason:
        'the service knows this correlator, so it has an earlier request. The service says: SVC0005: duplicate',
    });
  });
});

describe('An error code of the OneAPI family decides the outcome of a poll where the status would stop the lane:', () => {
  test.each([
    [403, 'POL0002', 'missing'],
    [404, 'SVC0004', 'missing'],
    [400, 'SVC0002', 'missing'],
    [403, 'SVC0001', 'unanswered'],
    [403, 'POL3003', 'throttled'],
    [400, 'POL3003', 'throttled'],
    [403, 'POL1010', 'stopped'],
    [403, 'POL0001', 'stopped'],
    [403, 'SVC9999', 'stopped'],
    [401, 'POL1010', 'unauthorised'],
  ])('%i %s is %s', (status, code, kind) => {
    expect(pollOutcome(refused(status, code), reading).kind).toBe(kind);
  });
});

test.each([
  [201, {}],
  [200, {}],
])('A %i whose body is an error is quoted, and its outcome is unknown', (status) => {
  const outcome = sent(refused(status, 'SVC0001', ['E7'], 'A service error occurred. Error code is %1'));
  expect(outcome).toEqual({
    kind: 'unknown',
    isAnswered: true,
    reason: `The service answered ${status} with an error; it may have accepted the request. The service says: SVC0001: A service error occurred. Error code is E7`,
  });
});

test('A 201 whose body is an error was accepted if its Location names the request', () => {
  const reply = { ...refused(201, 'SVC0001'), headers: { location: '/outbound/ACME/requests/r1' } };
  expect(sent(reply)).toMatchObject({ kind: 'accepted', requestId: 'r1' });
});
