import { expect, test } from 'vitest';
import type { Messages } from '../../../src/engine/sending/message.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { sendingVolley } from './sending-volley.js';

const place = testRedis('old-claim');
const NUMBER = '+4915700000001';

test.each([
  ['3 s before its request would leave', 3_000, { requests: 0, counts: { suppressed: 1 } }],
  ['a moment before its request leaves', 0, { requests: 1, counts: { deliveredToNetwork: 1 } }],
])(
  'A stop that is stored after the message was rendered, and %s, is counted as in flight',
  async (_, laterMs, expected) => {
    let stoodStillMs = 0;
    const monotonic = () => performance.now() + stoodStillMs;
    const own = { ...place, prefix: `${place.prefix}-${laterMs}` };
    const { volley, service, send, messages: real } = await sendingVolley(own, { monotonic });
    const created = await volley.enqueue({ recipients: [{ to: NUMBER }], message: 'Sale' });
    const id = created.outcome === 'created' ? created.id : '';
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
    // What the first turn did not send, the second claims again.
    for (let turns = 0; turns < 2; turns += 1) await send(messages);

    expect(service.received).toHaveLength(expected.requests);
    expect((await volley.status(id)).counts).toMatchObject({ planned: 0, ...expected.counts });
    const { messages: stored } = await volley.inbound.list();
    expect(stored.map(({ effect }) => effect?.inFlightCount)).toEqual([1]);
  },
);
