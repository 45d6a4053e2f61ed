import { expect, test } from 'vitest';
import { createVolley } from '../../../src/app/runtime.js';
import { loadLocalConfig } from '../../../src/base/config/index.js';
import { createEvents } from '../../../src/base/events/events.js';
import { keyNames } from '../../../src/base/redis/keys.js';
import { campaignContent } from '../../../src/engine/lane/campaign-content.js';
import { suppression } from '../../../src/engine/recipients/suppression.js';
import { sendClaims } from '../../../src/engine/sending/claims.js';
import { openMessages } from '../../../src/engine/sending/messages.js';
import { recentClaims } from '../../../src/engine/sending/recent-claims.js';
import { sendTurn } from '../../../src/engine/sending/send.js';
import { createMessagingClient } from '../../../src/service/client/messaging.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { openDefaultLane } from '../lane/lane-fixture.js';
import { json, startService } from '../sending/local-service.js';

const { redis, prefix, url } = testRedis('confirmation');
const NUMBER = '+4915700000001';
let installations = 0;
const ACCEPTED = json(201, {
  outboundSMSMessageRequest: { resourceURL: 'http://service.example/outbound/ACME/requests/r1' },
});

test.each([
  ['is sent', 'nothing happened since', async () => {}, { requests: 1, counts: { deliveredToNetwork: 1 } }],
  [
    'is not sent',
    'an operator has undone the stop',
    (volley, operation) => volley.suppression.undo(operation),
    { requests: 0, counts: { suppressed: 1 } },
  ],
  [
    'is not sent',
    'its number wants messages again',
    (volley) =>
      volley.inbound.receive({ lane: 'default', messageId: 'm2', from: NUMBER, to: 'ACME', text: 'start' }),
    { requests: 0, counts: { suppressed: 1 } },
  ],
  [
    'is not sent',
    'another actor has suppressed its number, too',
    (volley) => volley.suppression.add([NUMBER]),
    { requests: 0, counts: { suppressed: 1 } },
  ],
] as readonly [
  string,
  string,
  (volley: ReturnType<typeof createVolley>, operation: string) => Promise<unknown>,
  object,
][])('A confirmation that waits %s if %s', async (_, _why, meanwhile, expected) => {
  installations += 1;
  const own = `${prefix}-${installations}`;
  const env = {
    REDIS_URL: url,
    REDIS_PREFIX: own,
    MESSAGING_BASE_URL: 'http://127.0.0.1:9',
    API_KEY: 'k',
    SENDER_ADDRESS: 'ACME',
    STOP_REPLY: 'You will get no more messages.',
  };
  const volley = createVolley({ config: loadLocalConfig(env), events: createEvents({ level: 'silent' }) });
  const { lane, tokens } = openDefaultLane(redis, own, { env });
  const list = suppression(redis, keyNames(own));
  const messages = openMessages(lane, campaignContent(lane), {
    areSuppressed: (numbers) => list.areSuppressed(lane.id, numbers),
    isOnlyBy: (operation, number) => list.isOnlyBy(operation, lane.id, number),
    lastRemoval: () => list.lastRemoval(lane.id),
  });
  const service = await startService(ACCEPTED);
  const client = createMessagingClient({ baseUrl: service.baseUrl, timeoutMs: 20_000 });
  const sending = {
    ...{ client, tokens, messages, recent: recentClaims(lane.monotonic), claims: sendClaims(lane) },
    failed: () => {},
  };
  const send = () =>
    sendTurn(lane, sending, { turnMs: 20_000, waitHereMs: 0, signal: new AbortController().signal });
  await volley.enqueue({ recipients: [{ to: NUMBER }], message: 'Sale' });
  await send();
  await volley.inbound.receive({ lane: 'default', messageId: 'm', from: NUMBER, to: 'ACME', text: 'stop' });
  const [stop] = (await volley.inbound.list()).messages;
  const { reply, operation } = stop?.effect ?? {};
  await meanwhile(volley, operation ?? '');
  await send();
  const { counts } = await volley.status(reply ?? '');
  expect({ requests: service.received.length - 1, counts }).toMatchObject(expected);
  client.close();
  await volley.close();
});
