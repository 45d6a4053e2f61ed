import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { Inbound } from '../../../../src/tools/simulator/messages/inbound.js';
import { parseOptions } from '../../../../src/tools/simulator/rules/options.js';
import { Timers } from '../../../../src/tools/simulator/state/timers.js';

interface Part {
  readonly messageId: string;
  readonly udhMessageId: number;
  readonly concatPart: number;
}

/** A receiver of the messages that people send, which refuses the first requests. */
async function receiver(refused: number) {
  const parts: Part[] = [];
  let requests = 0;
  const server = createServer(async (request, response) => {
    requests += 1;
    response.statusCode = requests <= refused ? 503 : 204;
    const { InboundSmsMessage } = JSON.parse(await text(request));
    if (response.statusCode === 204) parts.push(InboundSmsMessage);
    response.end();
  }).listen(0, '127.0.0.1');
  onTestFinished(() => {
    server.close();
  });
  await new Promise((listening) => server.once('listening', listening));
  const inbound = new Inbound({
    settings: parseOptions({ inbound: { repeats: 0, retryAfterMs: [1, 1, 1] } }),
    random: () => 0.5,
    record: () => {},
    timers: new Timers(),
  });
  onTestFinished(() => inbound.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  inbound.handle(
    {
      method: 'POST',
      path: '/',
      query: '',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ callback: { url, securityToken: 'the-token' } }),
    },
    {
      name: 'key',
      settings: { quota: null, model: 'sliding', windowMs: 1, forbidden: false },
      quota: null,
    },
  );
  return { inbound, parts };
}

test('The parts of a message keep their reference when they are sent again, and another message gets another one', async () => {
  const { inbound, parts } = await receiver(2);
  const message = { from: '447700900123', to: '447700900999', text: ['Hel', 'lo'] };
  for (const messageId of ['one', 'other', 'one']) inbound.send({ ...message, messageId });
  await expect.poll(() => parts).toHaveLength(6);
  const referencesOf = (id: string) =>
    new Set(
      parts.flatMap(({ messageId, udhMessageId }) => (messageId.startsWith(`${id}-`) ? udhMessageId : [])),
    );
  expect([referencesOf('one').size, referencesOf('other').size]).toEqual([1, 1]);
  expect(referencesOf('one')).not.toEqual(referencesOf('other'));
});
