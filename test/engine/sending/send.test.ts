import { beforeAll, describe, expect, test } from 'vitest';
import type { TokenSource } from '../../../src/engine/jobs/token-source.js';
import { DamagedError } from '../../../src/engine/recipients/damaged.js';
import { readRecord } from '../../../src/engine/recipients/request-records.js';
import type { Message } from '../../../src/engine/sending/message.js';
import { recentClaims } from '../../../src/engine/sending/recent-claims.js';
import { sendTurn } from '../../../src/engine/sending/send.js';
import type { SendClaim } from '../../../src/engine/sending/send-claim.js';
import { sendClaims } from '../../../src/engine/sending/send-claims.js';
import { laneStatus } from '../../../src/reporting/status.js';
import { createMessagingClient, measuredClient } from '../../../src/service/client/messaging.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { laneFixture, openDefaultLane } from '../lane/lane-fixture.js';
import { type Answer, json, onlyForNew, renewedToken, startService } from './local-service.js';

const { redis, prefix } = testRedis('send');
const NUMBERS = ['+4915700000001', '+4915700000002', '+4915700000003', '+4915700000004'];
/** An error of the OneAPI family. */
const REQUEST_ERROR = {
  requestError: {
    policyException: { messageId: 'POL0013', text: 'Duplicated addresses %1', variables: ['A and B'] },
  },
};
/** A 201 with a request id and these delivery statuses. */
const accept = (statuses: Readonly<Record<string, string>> = {}): Answer => {
  const deliveryInfo = Object.entries(statuses).map(([number, deliveryStatus]) => ({
    address: `tel:${number}`,
    deliveryStatus,
  }));
  return json(201, {
    outboundSMSMessageRequest: {
      resourceURL: 'http://service.example/outbound/ACME/requests/r1',
      deliveryInfoList: { deliveryInfo },
    },
  });
};

// A turn whose first settlement has to load its script claims before it settles.
beforeAll(async () => {
  const claim = { number: 1, turn: 't', campaign: 'none', first: 0, count: 1 };
  await laneFixture(redis, prefix, 'warm-up').settlements.send([{ claim, result: 'released' }], 0);
});

let lanes = 0;

interface SenderOptions {
  readonly baseUrl: string;
  /** Recipients that are suppressed when their batch is rendered. */
  readonly suppressed?: readonly string[];
  /** Campaigns whose stored content is damaged. */
  readonly damaged?: readonly string[];
  readonly tokens?: TokenSource;
  readonly monotonic?: () => number;
  /** The correlator of each request; default: none. */
  readonly correlator?: string;
}

/** A lane on a real Redis, and one turn that sends on it; each batch has two recipients. */
function createSender({ baseUrl, suppressed = [], damaged = [], ...change }: SenderOptions) {
  lanes += 1;
  const own = `${prefix}-${lanes}`;
  const fixture = laneFixture(redis, own, 'default');
  const opened = openDefaultLane(redis, own, {
    ...change,
    env: { MAX_RECIPIENTS_PER_REQUEST: '2' },
  });
  const { lane, emitted, events } = opened;
  const { tokens = opened.tokens } = change;
  const failures: Error[] = [];
  const render = async (claims: readonly SendClaim[]): Promise<(Message | DamagedError)[]> =>
    claims.map(({ campaign, first, count }) => {
      if (damaged.includes(campaign)) return new DamagedError('slice 0 is missing');
      const all = NUMBERS.slice(first, first + count);
      const left = all.map((number) => suppressed.includes(number));
      return {
        sender: 'ACME',
        text: 'Hi',
        recipients: all.filter((_, at) => !left[at]),
        suppressed: left,
        ...(change.correlator === undefined ? {} : { clientCorrelator: change.correlator }),
      };
    });
  return {
    fixture,
    lane,
    emitted,
    failures,
    letters: fixture.stored.letters,
    record: (id: string) => readRecord(redis, fixture.keys, 'default', id, 0),
    status: async () => laneStatus(lane, await lane.status()),
    async turn(claims = sendClaims(lane), signal = new AbortController().signal) {
      const messaging = createMessagingClient({ baseUrl, timeoutMs: 20_000 });
      const client = measuredClient(messaging, lane.name, events, lane.monotonic);
      const sending = {
        client,
        tokens,
        messages: { render, isAllowed: async () => true },
        recent: recentClaims(lane.monotonic),
        claims,
        failed: (_lane: string, error: Error) => void failures.push(error),
      };
      const end = await sendTurn(lane, sending, { turnMs: 20_000, waitHereMs: 0, signal });
      client.close();
      return end;
    },
  };
}

test('A claim whose reply is lost while the process drains is repeated, and its batches are released', async () => {
  const service = await startService(accept());
  const sender = createSender(service);
  await sender.fixture.campaign('c', 2, { batch: 2 });
  const claims = sendClaims(sender.lane);
  const control = new AbortController();
  const take: typeof claims.take = async (call) => {
    const reply = await claims.take(call);
    if (control.signal.aborted) return reply;
    control.abort();
    throw new Error('Connection is closed.');
  };
  expect(await sender.turn({ ...claims, take }, control.signal)).toMatchObject({ requests: 1 });
  expect((await sender.fixture.state('c')).counts).toMatchObject({ planned: 2, sending: 0 });
  expect(service.received).toEqual([]);
});

describe('A batch', () => {
  test('that the service accepts gets the reported statuses and its request id', async () => {
    const service = await startService(accept({ [NUMBERS[0] ?? '']: 'DeliveredToTerminal' }));
    const sender = createSender(service);
    await sender.fixture.campaign('c', 2, { batch: 2 });
    expect(await sender.turn()).toMatchObject({ kind: 'idle', why: 'nothing', requests: 1 });
    expect(await sender.letters('c')).toBe('TN');
    expect(await sender.record('c')).toMatchObject({ count: 2, requestId: 'r1' });
    expect(service.received).toHaveLength(1);
  });

  test('that the service refuses is rejected with the code and the text of the error', async () => {
    const service = await startService(json(400, REQUEST_ERROR));
    const sender = createSender(service);
    await sender.fixture.campaign('c', 1, { batch: 1 });
    await sender.turn();
    expect((await sender.record('c'))?.reason).toMatch(
      /400.*The service says: POL0013: Duplicated addresses A and B$/,
    );
    expect(sender.emitted).toContainEqual(
      expect.objectContaining({ type: 'recipient.rejected', reason: expect.stringContaining('POL0013') }),
    );
  });

  test('whose response has another correlator than its request is accepted, and its report says so', async () => {
    const body = {
      resourceURL: 'http://service.example/outbound/ACME/requests/r1',
      clientCorrelator: '67893',
    };
    const service = await startService(json(201, { outboundSMSMessageRequest: body }));
    const sender = createSender({ ...service, correlator: 'c-0-2' });
    await sender.fixture.campaign('c', 2, { batch: 2 });
    await sender.turn();
    expect(await sender.letters('c')).toBe('NN');
    expect(await sender.record('c')).toMatchObject({
      requestId: 'r1',
      reason: 'the service answered with another clientCorrelator: 67893',
    });
    expect(sender.emitted.filter(({ type }) => type === 'request.otherCorrelator')).toEqual([
      { type: 'request.otherCorrelator', lane: 'default', sent: 'c-0-2', received: '67893' },
    ]);
  });

  test('of suppressed recipients is never sent', async () => {
    const service = await startService(accept());
    const sender = createSender({ ...service, suppressed: NUMBERS.slice(0, 2) });
    await sender.fixture.campaign('c', 2, { batch: 2 });
    await sender.turn();
    expect(service.received).toEqual([]);
    expect(await sender.letters('c')).toBe('SS');
    expect(await sender.fixture.state('c')).toMatchObject({ state: 'completed', counts: { suppressed: 2 } });
  });

  test('that is claimed but not sent when the process begins to drain is planned again', async () => {
    const service = await startService(accept());
    const sender = createSender(service);
    await sender.fixture.campaign('c', 2, { batch: 2 });
    const draining = new AbortController();
    const claims = sendClaims(sender.lane);
    const take: typeof claims.take = async (call) => {
      const reply = await claims.take(call);
      draining.abort();
      return reply;
    };
    await sender.turn({ ...claims, take }, draining.signal);
    expect(service.received).toEqual([]);
    expect(await sender.fixture.state('c')).toMatchObject({ state: 'running', counts: { planned: 2 } });
  });

  test('with one suppressed recipient is sent to the others only', async () => {
    const service = await startService(accept());
    const sender = createSender({ ...service, suppressed: NUMBERS.slice(0, 1) });
    await sender.fixture.campaign('c', 2, { batch: 2 });
    await sender.turn();
    expect(service.received).toHaveLength(1);
    expect(service.received[0]?.body).not.toContain(NUMBERS[0]);
    expect(service.received[0]?.body).toContain(NUMBERS[1]);
    expect(await sender.letters('c')).toBe('SN');
  });

  test('that may have been accepted is divided when some of its recipients are suppressed by now', async () => {
    const service = await startService(accept());
    const sender = createSender({ ...service, suppressed: NUMBERS.slice(1, 2) });
    await sender.fixture.campaign('c', 2, {
      batch: 2,
      cursor: 2,
      released: [{ first: 0, count: 2, again: 'byOperator' }],
    });
    await sender.turn();
    expect(service.received).toHaveLength(1);
    expect(service.received[0]?.body).not.toContain(NUMBERS[1]);
    // An earlier request may have reached the suppressed recipient.
    expect(await sender.letters('c')).toBe('NU');
    const [unknown] = await sender.fixture.commands.unknown();
    expect(unknown).toMatchObject({ first: 1, count: 1, reason: expect.stringContaining('suppressed') });
  });

  test('whose connection is refused is released, and the lane’s status names the address and the error code', async () => {
    const service = await startService(accept());
    await service.close();
    const sender = createSender(service);
    await sender.fixture.campaign('c', 4, { batch: 1 });
    await sender.turn();
    expect(await sender.turn()).toMatchObject({ kind: 'later', why: 'unreachable', requests: 0 });
    expect((await sender.fixture.state('c')).counts).toMatchObject({ planned: 4, sending: 0 });
    const { state, blockedBy, quota } = await sender.status();
    expect(state).toBe('backingOff');
    expect(blockedBy?.reason).toContain(`${service.host} refuses connections (ECONNREFUSED)`);
    // No request left, so no permit is spent.
    expect(quota.used).toEqual({ send: 0, poll: 0 });
    expect(sender.emitted.map(({ type }) => type)).toContain('request.notSent');
  });

  test('whose response is lost becomes unknown, and is not sent again', async () => {
    const service = await startService((request) => void request.socket.destroy());
    const sender = createSender(service);
    await sender.fixture.campaign('c', 2, { batch: 2 });
    await sender.turn();
    await sender.turn();
    expect(service.received).toHaveLength(1);
    expect(await sender.letters('c')).toBe('UU');
    expect((await sender.status()).quota.used.send).toBe(1);
    const [unknown] = await sender.fixture.commands.unknown();
    expect(unknown).toMatchObject({
      first: 0,
      count: 2,
      reason: expect.stringContaining('may have accepted'),
    });
  });

  test('of a campaign whose content is damaged pauses that campaign, and others are sent', async () => {
    const service = await startService(accept());
    const sender = createSender({ ...service, damaged: ['bad'] });
    await sender.fixture.campaign('bad', 2, { batch: 2 });
    await sender.fixture.campaign('good', 2, { batch: 2 });
    await sender.turn();
    expect(await sender.letters('good')).toBe('NN');
    expect(await sender.fixture.state('bad')).toMatchObject({
      state: 'paused',
      pauseReason: expect.stringContaining('slice 0 is missing'),
      counts: { planned: 2, sending: 0 },
    });
    expect(sender.failures.map(({ message }) => message)).toEqual(['slice 0 is missing']);
  });
});

describe('The lane', () => {
  test('backs off after a 429 for as long as the service says, with its message in the status and in the log', async () => {
    const service = await startService(json(429, REQUEST_ERROR, { 'retry-after': '60' }));
    const sender = createSender(service);
    await sender.fixture.campaign('c', 2, { batch: 2 });
    const end = await sender.turn();
    expect(end).toMatchObject({ kind: 'later', why: 'throttled' });
    if (end.kind === 'later') expect(end.inMs).toBeGreaterThan(59_000);
    expect((await sender.fixture.state('c')).counts).toMatchObject({ planned: 2, sending: 0 });
    const reason = 'POL0013: Duplicated addresses A and B';
    expect(await sender.status()).toMatchObject({
      state: 'backingOff',
      throttled: 1,
      blockedBy: { reason: `the service returned 429: ${reason}` },
    });
    expect(
      sender.emitted.filter(({ type }) => type === 'request.throttled' || type === 'lane.backingOff'),
    ).toEqual([expect.objectContaining({ reason }), expect.objectContaining({ cause: 'throttled', reason })]);
  });

  test('replaces a token that the service refuses with 401, and sends the batch with the new one', async () => {
    const service = await startService(onlyForNew(accept()));
    const { tokens, refused } = renewedToken();
    const sender = createSender({ ...service, tokens });
    await sender.fixture.campaign('c', 2, { batch: 2 });
    await sender.turn();
    expect(refused).toEqual([1]);
    expect(service.received.map(({ authorisation }) => authorisation)).toEqual(['Bearer old', 'Bearer new']);
    expect(await sender.letters('c')).toBe('NN');
    expect((await sender.status()).state).toBe('open');
  });

  test.each([
    [
      401,
      /does not accept the API key of lane default \(401\): correct it.*\. The service says: POL0013: .* A and B$/,
    ],
    [403, /403/],
  ])(
    'stops after a %i with what the service says, and no recipient becomes rejected',
    async (status, reason) => {
      const service = await startService(json(status, REQUEST_ERROR));
      const sender = createSender(service);
      await sender.fixture.campaign('c', 2, { batch: 2 });
      expect(await sender.turn()).toMatchObject({ kind: 'idle', why: 'stopped', requests: 1 });
      const { state, blockedBy } = await sender.status();
      expect([state, blockedBy?.reason]).toEqual(['stopped', expect.stringMatching(reason)]);
      expect((await sender.fixture.state('c')).counts).toMatchObject({ planned: 2, sending: 0, rejected: 0 });
    },
  );
});

describe('A claim that has grown old before its request starts', () => {
  /** Runs a turn whose process stands still for 3 seconds after its first claim; `meanwhile` happens in that time. */
  async function sendAfterDelay(meanwhile: (sender: ReturnType<typeof createSender>) => Promise<unknown>) {
    const service = await startService(accept());
    let stoodStillMs = 0;
    const sender = createSender({ ...service, monotonic: () => performance.now() + stoodStillMs });
    await sender.fixture.campaign('c', 2, { batch: 2 });
    const claims = sendClaims(sender.lane);
    await sender.turn({
      ...claims,
      async take(call) {
        const reply = await claims.take(call);
        if (stoodStillMs === 0) await meanwhile(sender);
        stoodStillMs = 3_000;
        return reply;
      },
    });
    return { service, sender };
  }

  test('is confirmed, and sent if it still holds', async () => {
    const { service, sender } = await sendAfterDelay(async () => {});
    expect(service.received).toHaveLength(1);
    expect(await sender.letters('c')).toBe('NN');
  });

  test('is released and not sent if its campaign was paused in the meantime', async () => {
    const { service, sender } = await sendAfterDelay(({ fixture }) =>
      fixture.commands.campaign('pause', 'c'),
    );
    expect(service.received).toEqual([]);
    expect((await sender.fixture.state('c')).counts).toMatchObject({ planned: 2, sending: 0 });
  });
});
