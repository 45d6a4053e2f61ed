import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Exchange, Failure, Reply } from '../../../src/service/client/exchange.js';
import { reportsIn } from '../../../src/service/client/notification.js';
import {
  type PollOutcome,
  pollOutcome,
  type SendOutcome,
  sendOutcome,
} from '../../../src/service/client/outcome.js';
import { codePoint } from '../../base/code-point.js';

const NOW = Date.parse('2026-03-02T10:00:00Z');
const TO = '+358401234567';
const reading = { now: NOW, secrets: ['KEY-1', 'the text'] };

const TAKEN = '{"outboundSMSMessageRequest":{"resourceURL":"http://h/outbound/ACME/requests/r1"}}';
const LISTED = `{"deliveryInfoList":{"deliveryInfo":[{"address":"tel:${TO}","deliveryStatus":"DeliveredToTerminal"}]}}`;

const STATUSES = Array.from({ length: 500 }, (_, index) => 100 + index);

function replied(status: number, body: string | null = '', headers: Reply['headers'] = {}): Reply {
  return { kind: 'reply', status, statusText: '', headers, body };
}

/** The expected outcome of a send by status, written independently of the code. */
function sendKindOf(status: number, body: string | null = ''): SendOutcome['kind'] {
  if (status === 201) return 'accepted';
  if (status === 429) return 'throttled';
  if (status === 401) return 'unauthorised';
  if (status < 300 || status === 303 || status === 408 || status >= 500 || body === null) return 'unknown';
  return [400, 413, 422].includes(status) ? 'refused' : 'stopped';
}

/** How a send may end by its exchange alone. No random body has an error code. */
function sendKindsOf(exchange: Exchange): readonly SendOutcome['kind'][] {
  if (exchange.kind === 'failure') return [failedKindOf(exchange, 'unknown')];
  const { status, body } = exchange;
  return status >= 200 && status < 300 ? ['accepted', 'unknown'] : [sendKindOf(status, body)];
}

function pollKindsOf(exchange: Exchange): readonly PollOutcome['kind'][] {
  if (exchange.kind === 'failure') return [failedKindOf(exchange, 'unanswered')];
  const { status } = exchange;
  return status >= 200 && status < 300 ? ['infos', 'unanswered'] : [pollKindOf(status)];
}

function failedKindOf<Left>({ cause, left }: Failure, whenLeft: Left): Left | 'stopped' | 'notSent' {
  if (cause === 'unsendable') return 'stopped';
  return left ? whenLeft : 'notSent';
}

function pollKindOf(status: number): PollOutcome['kind'] {
  if (status === 429) return 'throttled';
  if (status === 401) return 'unauthorised';
  if ([400, 404, 410, 413, 422].includes(status)) return 'missing';
  if (status < 300 || status === 408 || status >= 500) return 'unanswered';
  return 'stopped';
}

const failures: fc.Arbitrary<Failure> = fc.record({
  kind: fc.constant('failure' as const),
  cause: fc.constantFrom('aborted' as const, 'timeout' as const, 'unsendable' as const, 'network' as const),
  code: fc.oneof(
    fc.constantFrom('ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ECONNREFUSED', 'HPE_INVALID_CONSTANT'),
    fc.string(),
  ),
  left: fc.boolean(),
});

const bodies = fc.oneof(
  fc.constant(null),
  fc.string({ unit: codePoint }),
  fc.json(),
  fc.constantFrom(TAKEN, LISTED, '{}', '[]', 'null', '{"outboundSMSMessageRequest":{"deliveryInfoList":[]}}'),
  fc
    .record({ resourceURL: fc.jsonValue(), deliveryInfo: fc.oneof(fc.jsonValue(), fc.array(fc.jsonValue())) })
    .map((inner) =>
      JSON.stringify({ deliveryInfoList: inner, outboundSMSMessageRequest: { deliveryInfoList: inner } }),
    ),
);

const replies: fc.Arbitrary<Reply> = fc.record({
  kind: fc.constant('reply' as const),
  status: fc.integer({ min: 100, max: 599 }),
  statusText: fc.string(),
  headers: fc.record(
    { location: fc.oneof(fc.webUrl(), fc.string({ unit: codePoint })), 'retry-after': fc.string() },
    { requiredKeys: [] },
  ),
  body: bodies,
});

const exchanges: fc.Arbitrary<Exchange> = fc.oneof(failures, replies);

describe('the outcome of a send', () => {
  it('follows the table for every status without a body', () => {
    for (const status of STATUSES) {
      expect([status, sendOutcome(replied(status), { recipients: [TO] }, reading).kind]).toEqual([
        status,
        sendKindOf(status),
      ]);
    }
  });

  it('is accepted for any 2xx with an OutboundRequest', () => {
    for (const status of STATUSES.filter((each) => each >= 200 && each < 300)) {
      expect(sendOutcome(replied(status, TAKEN), { recipients: [TO] }, reading)).toMatchObject({
        kind: 'accepted',
        requestId: 'r1',
      });
    }
  });

  it('depends only on the status, and on whether the body broke off, for responses other than 2xx', () => {
    for (const status of STATUSES.filter((each) => each < 200 || each >= 300)) {
      for (const body of [TAKEN, LISTED, null]) {
        const headers = { location: 'http://h/outbound/ACME/requests/r1' };
        expect(sendOutcome(replied(status, body, headers), { recipients: [TO] }, reading).kind).toBe(
          sendKindOf(status, body),
        );
      }
    }
  });

  it('follows the table for every exchange, whatever its body is', () => {
    fc.assert(
      fc.property(exchanges, (exchange) => {
        const { kind } = sendOutcome(exchange, { recipients: [TO] }, reading);
        expect(sendKindsOf(exchange)).toContain(kind);
      }),
      { numRuns: 500 },
    );
  });

  it('allows a resend only if a status below 500 refused the request or nothing left', () => {
    fc.assert(
      fc.property(exchanges, (exchange) => {
        const { kind } = sendOutcome(exchange, { recipients: [TO] }, reading);
        fc.pre(kind !== 'accepted' && kind !== 'unknown');
        const refused =
          exchange.kind === 'reply' &&
          exchange.status >= 300 &&
          exchange.status < 500 &&
          exchange.status !== 408;
        const neverLeft = exchange.kind === 'failure' && (!exchange.left || exchange.cause === 'unsendable');
        expect(refused || neverLeft).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  it('prefers a final status of a number over a non-final one in the same response, in any order', () => {
    const info = (deliveryStatus: string) => ({ address: `tel:${TO}`, deliveryStatus });
    for (const order of [
      ['DeliveredToNetwork', 'DeliveryImpossible'],
      ['DeliveryImpossible', 'DeliveredToNetwork'],
    ]) {
      const body = JSON.stringify({
        outboundSMSMessageRequest: { deliveryInfoList: { deliveryInfo: order.map(info) } },
      });
      expect(sendOutcome(replied(201, body), { recipients: [TO] }, reading)).toMatchObject({
        statuses: new Map([[TO, 'DeliveryImpossible']]),
      });
    }
  });
});

describe('two final statuses of a number in one response', () => {
  const info = (deliveryStatus: string) => ({ address: `tel:${TO}`, deliveryStatus });
  it.each([
    ['DeliveredToTerminal', 'DeliveryImpossible'],
    ['DeliveryImpossible', 'DeliveredToTerminal'],
    ['DeliveryImpossible', 'DeliveredToNetwork', 'DeliveredToTerminal', 'DeliveryImpossible'],
  ])('mean that it was delivered, in any order, and the other one is reported: %s, %s', (...order) => {
    const list = { deliveryInfoList: { deliveryInfo: order.map(info) } };
    const expected = {
      statuses: new Map([[TO, 'DeliveredToTerminal']]),
      contradicted: new Map([[TO, 'DeliveryImpossible']]),
    };
    const created = replied(201, JSON.stringify({ outboundSMSMessageRequest: list }));
    expect(sendOutcome(created, { recipients: [TO] }, reading)).toMatchObject(expected);
    expect(pollOutcome(replied(200, JSON.stringify(list)), reading)).toMatchObject(expected);
    expect(reportsIn(list)?.map(({ status }) => status)[0]).toBe(
      order.includes('DeliveredToNetwork') ? 'DeliveredToNetwork' : 'DeliveredToTerminal',
    );
  });

  it('that say the same contradict nothing', () => {
    const twice = [info('DeliveredToTerminal'), info('DeliveredToTerminal')];
    const body = JSON.stringify({ deliveryInfoList: { deliveryInfo: twice } });
    expect(pollOutcome(replied(200, body), reading)).not.toHaveProperty('contradicted');
  });
});

describe('the request id of a 201', () => {
  it.each([
    ['http://h/outbound/ACME/requests/r1', 'r1'],
    ['/smsmessaging/v1/outbound/ACME/requests/r1', 'r1'],
    ['//h/outbound/ACME/requests/r1/', 'r1'],
    ['/outbound/ACME/requests/r1?format=json', 'r1'],
    ['/outbound/ACME/Requests/r1#top', 'r1'],
    ['/outbound/ACME/requests/r1/deliveryInfos', 'r1'],
    ['requests/r1', 'r1'],
    ['./r1', 'r1'],
    ['r1', 'r1'],
    ['/r1', 'r1'],
    ['r1/', 'r1'],
    [' r1?x=1 ', 'r1'],
    ['r%2F1', 'r/1'],
    ['/outbound/ACME/requests', null],
    ['/requests/', null],
    ['requests', null],
    ['../..', null],
    ['.', null],
    ['http://h', null],
    ['', null],
  ])('is read from the Location %s', (location, id) => {
    const reply = replied(201, '', { location });
    expect(sendOutcome(reply, { recipients: [TO] }, reading)).toMatchObject({
      kind: 'accepted',
      requestId: id,
    });
  });
});

describe('the outcome of a poll', () => {
  it('follows the table for every status without a body', () => {
    for (const status of STATUSES) {
      expect([status, pollOutcome(replied(status), reading).kind]).toEqual([status, pollKindOf(status)]);
    }
  });

  it('contains the infos of any 2xx with a DeliveryInfoList', () => {
    for (const status of STATUSES.filter((each) => each >= 200 && each < 300)) {
      expect(pollOutcome(replied(status, LISTED), reading)).toEqual({
        kind: 'infos',
        statuses: new Map([[TO, 'DeliveredToTerminal']]),
        unlisted: [],
      });
    }
  });

  it('follows the table for every exchange, whatever its body is', () => {
    fc.assert(
      fc.property(exchanges, (exchange) => {
        expect(pollKindsOf(exchange)).toContain(pollOutcome(exchange, reading).kind);
      }),
      { numRuns: 500 },
    );
  });
});

describe('a reason', () => {
  it('has at most 200 characters and contains no phone number, key, or message text, whatever the service answers', () => {
    const message = fc
      .tuple(
        fc.string(),
        fc.constantFrom(TO, 'KEY-1', 'the text', '358 40 123 4567', '(040) 123-4567'),
        fc.string(),
      )
      .map((parts) => parts.join(' '));
    fc.assert(
      fc.property(fc.constantFrom(400, 401, 403, 404, 500, 302), message, (status, body) => {
        const outcomes = [
          sendOutcome(replied(status, body), { recipients: [TO] }, reading),
          pollOutcome(replied(status, body), reading),
        ];
        // A poll of a request that the service does not know, or refuses, has none.
        const reasons = outcomes.flatMap((outcome) => ('reason' in outcome ? [outcome.reason] : []));
        expect(reasons.length).toBe([400, 404].includes(status) ? 1 : 2);
        for (const reason of reasons) {
          expect(reason.length).toBeLessThanOrEqual(200);
          expect(reason).not.toMatch(/KEY-1|the text|358401234567|123.?4567/);
        }
      }),
      { numRuns: 300 },
    );
  });
});
