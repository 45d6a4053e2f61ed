import { expect, test } from 'vitest';
import type { Volley } from '../../../src/app/volley.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { sendingVolley } from './sending-volley.js';

const place = testRedis('confirmation');
const NUMBER = '+4915700000001';
let installations = 0;

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
] as readonly [string, string, (volley: Volley, operation: string) => Promise<unknown>, object][])(
  'A confirmation that waits %s if %s',
  async (_, _why, meanwhile, expected) => {
    installations += 1;
    const { volley, service, send } = await sendingVolley(
      { ...place, prefix: `${place.prefix}-${installations}` },
      { env: { STOP_REPLY: 'You will get no more messages.' } },
    );
    await volley.enqueue({ recipients: [{ to: NUMBER }], message: 'Sale' });
    await send();
    await volley.inbound.receive({ lane: 'default', messageId: 'm', from: NUMBER, to: 'ACME', text: 'stop' });
    const [stop] = (await volley.inbound.list()).messages;
    const { reply, operation } = stop?.effect ?? {};
    await meanwhile(volley, operation ?? '');
    await send();
    const { counts } = await volley.status(reply ?? '');
    expect({ requests: service.received.length - 1, counts }).toMatchObject(expected);
  },
);
