import { once } from 'node:events';
import type { Socket } from 'node:net';
import { describe, expect, test, vi } from 'vitest';
import { keyNames } from '../../../../src/base/redis/keys.js';
import { SOON } from '../../../base/soon.js';
import { client } from '../../../scene/api.js';
import { scene } from '../../../scene/scene.js';

const { api, redis, prefix } = scene('http-revoked');
const { call, key, origin, volley } = await api();

const idOf = (own: string): string => own.split('_')[1] ?? '';
/** The two ways in which a secret ends at once. */
const ENDS = [
  ['is revoked', async (own: string) => void (await volley.keys.revoke(idOf(own)))],
  ['gets a new secret', async (own: string) => void (await volley.keys.rotate(idOf(own), { overlap: '0s' }))],
] as const;

interface Begun {
  readonly socket: Socket;
  /** What the client has received. */
  received(): string;
  /** Resolves when the connection is closed. */
  readonly closed: Promise<unknown>;
}

/** Sends a request except for the last `left` bytes of its body, and resolves when its key has been checked. */
async function begin(own: string, method: string, path: string, type: string, body: string, left = 5) {
  const socket = client(origin);
  let text = '';
  socket.on('data', (chunk) => {
    text += String(chunk);
  });
  const head = [
    `${method} ${path} HTTP/1.1`,
    'Host: volley',
    `Authorization: Bearer ${own}`,
    `Content-Type: ${type}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n${body.slice(0, -left)}`);
  await vi.waitUntil(
    async () => (await volley.keys.list()).find(({ id }) => id === idOf(own))?.lastUsedAt != null,
    SOON,
  );
  return { socket, received: () => text, closed: once(socket, 'close') } satisfies Begun;
}

async function statusAfter({ socket, received }: Begun, rest: string): Promise<string> {
  socket.write(rest);
  await vi.waitUntil(() => received().includes('\r\n'), SOON);
  return received().slice(9, 12);
}

await call('POST', '/v1/outboxes', { body: { name: 'codes', message: 'Your code is {{code}}' } });

/** What keys did. The trail gets the counts of refused requests when a minute of the clock ends, which may be in the middle of a test. */
async function entriesOfKeys(): Promise<number> {
  const { entries } = await volley.audit({ limit: 1_000 });
  return entries.filter(({ actor, action }) => actor?.kind === 'key' && action !== 'request.refused').length;
}

describe.each(ENDS)('While a body arrives, a key that %s', (_how, end) => {
  const stored = async (): Promise<unknown> => [
    await volley.outbox('codes').status(),
    await volley.outboxes.list(),
    await volley.schedules.list(),
    (await volley.suppression.operations()).operations,
    await volley.list(),
    await entriesOfKeys(),
  ];

  test.each([
    ['PUT', '/v1/outboxes/codes/messages/m1', { to: '+447700900123', code: '1' }],
    ['POST', '/v1/outboxes', { name: 'another', message: 'Hi' }],
    [
      'POST',
      '/v1/schedules',
      { id: 'weekly', cron: '0 9 * * 1', zone: 'UTC', message: 'Hi', recipients: [{ to: '+447700900123' }] },
    ],
    ['POST', '/v1/suppressions', { numbers: ['+447700900124'] }],
    [
      'POST',
      '/v1/campaigns',
      { recipients: [{ to: '+447700900123' }], message: 'Hi', sendAt: '2999-01-01T00:00:00Z' },
    ],
  ])('writes nothing with %s %s', async (method, path, input) => {
    const before = await stored();
    const own = await key();
    const body = JSON.stringify(input);
    const begun = await begin(own, method, path, 'application/json', body);
    await end(own);
    expect(await statusAfter(begun, body.slice(-5))).toBe('401');
    expect(await stored()).toEqual(before);
  });

  test('stores no more lines of a list', async () => {
    const before = await stored();
    const own = await key();
    const lines = Array.from({ length: 1_501 }, (_, at) =>
      JSON.stringify({ id: `line-${at}`, to: '+447700900123', code: `${at}` }),
    ).join('\n');
    // The lines that are missing fill a batch, and so does what is left at the end.
    const left = lines.length - lines.indexOf('"line-900"');
    const begun = await begin(
      own,
      'POST',
      '/v1/outboxes/codes/messages',
      'application/x-ndjson',
      lines,
      left,
    );
    await end(own);
    expect(await statusAfter(begun, lines.slice(-left))).toBe('401');
    expect(await stored()).toEqual(before);
  });
});

test.each(ENDS)('A request that sends nothing more is ended when its key %s', async (_how, end) => {
  const own = await key(['send']);
  const body = JSON.stringify({ name: 'never', message: 'Hi' });
  const { closed, received } = await begin(own, 'POST', '/v1/outboxes', 'application/json', body);
  await end(own);
  await closed;
  expect(received()).toMatch(/^HTTP\/1\.1 401 /);
  expect(received()).toContain('The API key was revoked');
});

test('A request whose key stays valid is not ended', async () => {
  const own = await key(['send']);
  const body = JSON.stringify({ name: 'slow', message: 'Hi' });
  const begun = await begin(own, 'POST', '/v1/outboxes', 'application/json', body);
  const other = await key(['send']);
  const ended = await begin(other, 'POST', '/v1/outboxes', 'application/json', body);
  await volley.keys.revoke(idOf(other));
  await ended.closed;
  expect(await statusAfter(begun, body.slice(-5))).toBe('201');
});

test('A rotation without an overlap ends the streams of the old secret, and no others', async () => {
  const own = await key(['read']);
  const follow = async (secret: string) =>
    (await fetch(`${origin}/v1/events`, { headers: { authorization: `Bearer ${secret}` } })).body;
  const old = await follow(own);
  const { key: renewed } = await volley.keys.rotate(idOf(own), { overlap: '0s' });
  const current = (await follow(renewed))?.getReader();
  let text = '';
  for await (const chunk of old ?? []) text += Buffer.from(chunk).toString();
  expect(text).toContain('retry: ');
  await current?.read();
  // A pause is an event, so a stream that is still open shows it.
  await call('POST', '/v1/lanes/default/hold');
  await call('POST', '/v1/lanes/default/resume');
  expect((await current?.read())?.done).toBe(false);
  await current?.cancel();
});

test('A key that revokes itself with its campaigns gets the answer, however long it takes to cancel them', async () => {
  const own = await key();
  const created = Array.from({ length: 40 }, async (_, at) => {
    const body = {
      ...{ recipients: [{ to: '+447700900123' }], message: `Hi ${at}`, sendAt: '2999-01-01T00:00:00Z' },
    };
    return (await call('POST', '/v1/campaigns', { key: own, body })).json as { readonly id: string };
  });
  const ids = (await Promise.all(created)).map(({ id }) => id);
  const revoking = call('POST', `/v1/keys/${idOf(own)}/revoke`, {
    ...{ key: own, body: { cancelCampaigns: true } },
  });
  const { apiKeysRevoked } = keyNames(prefix);
  await vi.waitUntil(async () => (await redis.hexists(apiKeysRevoked, idOf(own))) === 1, {
    ...SOON,
    interval: 1,
  });
  // Longer than the server waits until it looks whether a key still works.
  await redis.call('CLIENT', 'PAUSE', 3_000, 'WRITE');
  const { status, json } = await revoking;
  expect(status).toBe(200);
  expect([...(json as { readonly cancelled: string[] }).cancelled].sort()).toEqual(ids.sort());
  expect((await call('GET', '/v1/lanes', { key: own })).status).toBe(401);
});
