import { expect, test } from 'vitest';
import { createVolley } from '../../../src/app/runtime.js';
import { loadLocalConfig } from '../../../src/base/config/index.js';
import { createEvents } from '../../../src/base/events/events.js';
import { keyNames } from '../../../src/base/redis/keys.js';
import { campaignContent } from '../../../src/engine/lane/campaign-content.js';
import { suppression } from '../../../src/engine/recipients/suppression.js';
import { sendClaims } from '../../../src/engine/sending/claims.js';
import type { Messages } from '../../../src/engine/sending/message.js';
import { openMessages } from '../../../src/engine/sending/messages.js';
import { recentClaims } from '../../../src/engine/sending/recent-claims.js';
import { sendTurn } from '../../../src/engine/sending/send.js';
import { createMessagingClient } from '../../../src/service/client/messaging.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { openDefaultLane } from '../lane/lane-fixture.js';
import { json, startService } from '../sending/local-service.js';

const { redis, prefix, url } = testRedis('old-claim');
const NUMBER = '+4915700000001';
const ACCEPTED = json(201, {
  outboundSMSMessageRequest: { resourceURL: 'http://service.example/outbound/ACME/requests/r1' },
});

test.each([
  ['3 s before its request would leave', 3_000, { requests: 0, counts: { suppressed: 1 } }],
  ['a moment before its request leaves', 0, { requests: 1, counts: { deliveredToNetwork: 1 } }],
])(
  'A stop that is stored after the message was rendered, and %s, is counted as in flight',
  async (_, laterMs, expected) => {
    const own = `${prefix}-${laterMs}`;
    const settings = {
      REDIS_URL: url,
      REDIS_PREFIX: own,
      MESSAGING_BASE_URL: 'http://127.0.0.1:9',
      API_KEY: 'k',
      SENDER_ADDRESS: 'ACME',
    };
    const volley = createVolley({
      config: loadLocalConfig(settings),
      events: createEvents({ level: 'silent' }),
    });
    const created = await volley.enqueue({ recipients: [{ to: NUMBER }], message: 'Sale' });
    const id = created.outcome === 'created' ? created.id : '';
    let stoodStillMs = 0;
    const monotonic = () => performance.now() + stoodStillMs;
    const { lane, tokens } = openDefaultLane(redis, own, { env: settings, monotonic });
    const list = suppression(redis, keyNames(own));
    const real = openMessages(lane, campaignContent(lane), {
      areSuppressed: (numbers) => list.areSuppressed(lane.id, numbers),
      isOnlyBy: async () => false,
      lastRemoval: async () => 0,
    });
    let isStopped = false;
    const messages: Messages = {
      ...real,
      async render(claims) {
        const rendered = await real.render(claims);
        if (isStopped || claims.length === 0) return rendered;
        isStopped = true;
        const stop = { lane: 'default', messageId: 'm', from: NUMBER, to: 'ACME', text: 'STOP' };
        await volley.inbound.receive(stop);
        stoodStillMs += laterMs;
        return rendered;
      },
    };
    const service = await startService(ACCEPTED);
    const client = createMessagingClient({ baseUrl: service.baseUrl, timeoutMs: 20_000 });
    const recent = recentClaims(lane.monotonic);
    const sending = { client, tokens, messages, recent, claims: sendClaims(lane), failed: () => {} };
    const { signal } = new AbortController();
    // What the first turn did not send, the second claims again.
    for (let turns = 0; turns < 2; turns += 1)
      await sendTurn(lane, sending, { turnMs: 20_000, waitHereMs: 0, signal });
    client.close();

    expect(service.received).toHaveLength(expected.requests);
    expect((await volley.status(id)).counts).toMatchObject({ planned: 0, ...expected.counts });
    const { messages: stored } = await volley.inbound.list();
    expect(stored.map(({ effect }) => effect?.inFlightCount)).toEqual([1]);
    await volley.close();
  },
);
