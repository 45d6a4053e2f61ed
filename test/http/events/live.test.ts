import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { promisify } from 'node:util';
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { expect, onTestFinished, test, vi } from 'vitest';
import { loadLocalConfig } from '../../../src/config/index.js';
import { createEvents } from '../../../src/events/events.js';
import { createVolley } from '../../../src/runtime.js';
import { testRedis } from '../../redis/test-redis.js';
import { served } from '../api.js';

const { url, prefix, redis } = testRedis('http-live');
const settings = { REDIS_URL: url, REDIS_PREFIX: prefix };
const { ask, key, volley, origin } = await served(settings);
/** Another process, as far as the first can tell. */
const elsewhere = createVolley({
  config: loadLocalConfig({ API_KEY: 'key', ...settings }),
  events: createEvents({ level: 'silent' }),
});

let made = 0;
async function campaign(): Promise<string> {
  made += 1;
  const body = { recipients: [{ to: '+447700900123' }], message: `Hi ${made}`, at: '2999-01-01T00:00:00Z' };
  return ((await ask('POST', '/v1/campaigns', { body })).said as { id: string }).id;
}

interface Watched {
  /** The next event, in order. */
  next(): Promise<EventSourceMessage>;
  /** Resolves when the stream has ended. */
  readonly ended: Promise<void>;
  stop(): void;
}

async function watch(
  path: string,
  { lastEventId, own }: { lastEventId?: string; own?: string } = {},
): Promise<Watched> {
  const over = new AbortController();
  const reply = await fetch(`${origin}${path}`, {
    signal: over.signal,
    headers: {
      authorization: `Bearer ${own ?? (await key())}`,
      ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
    },
  });
  expect([reply.status, reply.headers.get('content-type')]).toEqual([
    200,
    'text/event-stream; charset=utf-8',
  ]);
  const heard: EventSourceMessage[] = [];
  let more = (): void => {};
  const parser = createParser({
    onEvent(event) {
      heard.push(event);
      more();
    },
  });
  const read = async (): Promise<void> => {
    const decoder = new TextDecoder();
    for await (const piece of reply.body ?? []) parser.feed(decoder.decode(piece, { stream: true }));
  };
  const ended = read().catch(() => {});
  const stop = (): void => over.abort();
  onTestFinished(stop);
  return {
    ended,
    stop,
    async next() {
      while (heard.length === 0) {
        await new Promise<void>((resolve) => {
          more = resolve;
        });
      }
      return heard.shift() as EventSourceMessage;
    },
  };
}

/** The next that is no status. */
async function happened(watched: Watched): Promise<EventSourceMessage & { said: Record<string, unknown> }> {
  for (;;) {
    const event = await watched.next();
    if (event.event !== 'campaign.status') return { ...event, said: JSON.parse(event.data) };
  }
}

test('After 0-0 comes all that is kept, and a gap names the id from which on events are told', async () => {
  const id = await campaign();
  const all = await watch(`/v1/campaigns/${id}/events`, { lastEventId: '0-0' });
  const told: string[] = [];
  while (!told.includes('campaign.imported')) told.push((await all.next()).event ?? '');
  all.stop();
  const ahead = await watch('/v1/events', { lastEventId: '999999999999999-0' });
  const { event, data } = await ahead.next();
  expect([event, JSON.parse(data)]).toEqual(['gap', { after: expect.stringMatching(/^\d+-\d+$/) }]);
  ahead.stop();
});

test('A lane that is not there has no stream', async () => {
  const { status, said } = await ask('GET', '/v1/events?lane=nope');
  expect([status, said]).toMatchObject([404, { code: 'notFound', detail: 'there is no lane nope' }]);
});

test('What happens in any process is told, with an id each', async () => {
  const id = await campaign();
  const watched = await watch('/v1/events');
  await elsewhere.pause(id);
  await volley.resume(id);
  const [paused, resumed] = [await happened(watched), await happened(watched)];
  expect([paused.event, resumed.event]).toEqual(['campaign.paused', 'campaign.resumed']);
  expect(paused.said).toMatchObject({
    type: 'campaign.paused',
    campaign: id,
    lane: 'default',
    by: 'operator',
  });
  expect(Date.parse(String(paused.said['time']))).toBeGreaterThan(Date.now() - 60_000);
  expect(paused.id).toMatch(/^\d+-\d+$/);
});

test('Times are told as everywhere in the API', async () => {
  const watched = await watch('/v1/events');
  volley.events.emit({ type: 'campaign.launched', lane: 'default', campaign: 'a', at: 0 });
  volley.events.emit({ type: 'lane.paused', lane: 'default', reason: 'a test', until: null, epoch: 1 });
  const [launched, paused] = [await happened(watched), await happened(watched)];
  expect(launched.said).toMatchObject({ campaign: 'a', at: '1970-01-01T00:00:00.000Z' });
  expect(paused.said).toMatchObject({ until: null, epoch: 1, time: expect.stringMatching(/^\d{4}-/) });
});

test('What a later version tells is passed on as it is', async () => {
  const watched = await watch('/v1/events');
  const event = { type: 'campaign.teleported', lane: 'default', campaign: 'a', at: 0 };
  await redis.xadd(`${prefix}:events`, '*', 'e', JSON.stringify(event));
  expect(await happened(watched)).toMatchObject({ event: event.type, said: event });
});

test('Whoever comes back with the last id misses nothing and hears nothing twice', async () => {
  const id = await campaign();
  const first = await watch(`/v1/campaigns/${id}/events`);
  await elsewhere.pause(id);
  const paused = await happened(first);
  first.stop();
  await elsewhere.resume(id);
  await campaign();
  await elsewhere.pause(id);
  const second = await watch(`/v1/campaigns/${id}/events`, { lastEventId: paused.id ?? '' });
  await elsewhere.cancel(id);
  const heard = [await happened(second), await happened(second), await happened(second)];
  expect(heard.map(({ event }) => event)).toEqual([
    'campaign.resumed',
    'campaign.paused',
    'campaign.cancelled',
  ]);
});

test('Who comes for the first time has an id to come back with before anything has happened', async () => {
  const reply = await fetch(`${origin}/v1/events`, { headers: { authorization: `Bearer ${await key()}` } });
  const reader = reply.body?.getReader();
  const said = new TextDecoder().decode((await reader?.read())?.value);
  await reader?.cancel();
  const [id] = /(?<=^id: ).*$/m.exec(said) ?? [];
  const campaignId = await campaign();
  const watched = await watch('/v1/events', { lastEventId: String(id) });
  expect((await happened(watched)).said).toMatchObject({ type: 'campaign.imported', campaign: campaignId });
});

test('How a campaign stands is shown at first, and when it has changed', async () => {
  const id = await campaign();
  const watched = await watch(`/v1/campaigns/${id}/events`);
  const first = await watched.next();
  expect([first.event, first.id]).toEqual(['campaign.status', undefined]);
  expect(JSON.parse(first.data)).toEqual(JSON.parse(JSON.stringify(await volley.status(id))));
  await elsewhere.cancel(id);
  const states: unknown[] = [];
  while (states.length < 2) {
    const { event, data } = await watched.next();
    if (event === 'campaign.status') states.push(JSON.parse(data).state);
    else states.push(event);
  }
  expect(new Set(states)).toEqual(new Set(['campaign.cancelled', 'cancelled']));
});

test('One of many watchers asks for all', async () => {
  const id = await campaign();
  const all = await Promise.all(Array.from({ length: 50 }, () => watch(`/v1/campaigns/${id}/events`)));
  await Promise.all(all.map((one) => one.next()));
  await elsewhere.pause(id);
  const heard = await Promise.all(all.map(happened));
  expect(new Set(heard.map((event) => event.id)).size).toBe(1);
});

test('A key hears only of its lanes, and of a lane when that is asked for', async () => {
  const watched = await watch('/v1/events?lane=default', { own: await key(['read'], ['default']) });
  const id = await campaign();
  expect((await happened(watched)).said).toMatchObject({ type: 'campaign.imported', campaign: id });
});

test('A key that is revoked hears nothing more', async () => {
  const own = await key(['read']);
  const watched = await watch('/v1/events', { own });
  await volley.keys.revoke(own.split('_')[1] ?? '');
  await watched.ended;
});

test.each(['x', '1', '1-2-3', '-1-0'])('The id of no event is refused: %s', async (lastEventId) => {
  const { status, said } = await ask('GET', '/v1/events', { headers: { 'last-event-id': lastEventId } });
  expect([status, said]).toMatchObject([
    400,
    { errors: [{ pointer: 'header/last-event-id', message: expect.stringContaining('0-0 for all') }] },
  ]);
});

test('Streams end with the server, so that it can', async () => {
  const other = await served(settings);
  const reply = await fetch(`${other.origin}/v1/events`, {
    headers: { authorization: `Bearer ${await other.key()}` },
  });
  await other.app.close();
  expect(await reply.text()).toContain('retry: ');
});

/** Asks for a stream, some times on one connection, and takes in no more than its head. */
async function followBlindly(at: string, own: string, times = 1): Promise<Socket> {
  const socket = connect(Number(new URL(at).port), '127.0.0.1').on('error', () => {});
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  socket.write(`GET /v1/events HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${own}\r\n\r\n`.repeat(times));
  await once(socket, 'data');
  return socket.pause();
}

/** More than any connection holds. */
async function muchHappens(): Promise<void> {
  const event = { type: 'campaign.resumed', lane: 'default', campaign: 'x'.repeat(1_000_000) };
  for (let at = 0; at < 20; at += 1) await redis.xadd(`${prefix}:events`, '*', 'e', JSON.stringify(event));
}

test('Streams that are queued on a connection end with it', async () => {
  const other = await served(settings);
  const follow = vi.spyOn(other.volley, 'follow');
  const socket = await followBlindly(other.origin, await other.key(), 3);
  await vi.waitFor(() => expect(follow).toHaveBeenCalledTimes(3));
  socket.destroy();
  await vi.waitFor(() =>
    expect(follow.mock.calls.map(([options]) => options?.signal?.aborted)).toEqual([true, true, true]),
  );
  const { said } = await other.ask('GET', '/metrics');
  expect(said).toContain('volley_http_requests_in_flight{route="/v1/events"} 0\n');
});

test('Who takes nothing in is let go', async () => {
  const other = await served(settings, { patienceMs: 500 });
  const socket = await followBlindly(other.origin, await other.key());
  await muchHappens();
  const connections = (): Promise<number> =>
    promisify((done: (error: Error | null, count: number) => void) =>
      other.app.server.getConnections(done),
    )();
  await expect.poll(connections, { timeout: 10_000 }).toBe(0);
  socket.destroy();
});

test('Who takes nothing in does not keep the server from its end', async () => {
  const other = await served(settings);
  const connected = once(other.app.server, 'connection');
  await followBlindly(other.origin, await other.key());
  const [line] = (await connected) as [Socket];
  await muchHappens();
  let taken = 0;
  const isFull = (): boolean => {
    const before = taken;
    taken = line.bytesWritten;
    return taken > 1_000_000 && taken === before;
  };
  await expect.poll(isFull, { interval: 200, timeout: 10_000 }).toBe(true);
  await other.app.close();
});

test('No key takes the streams of all others', async () => {
  const other = await served(settings, { mostStreams: 8 });
  const [greedy, late] = [await other.key(), await other.key()];
  const open: Socket[] = [];
  for (let at = 0; at < 4; at += 1) open.push(await followBlindly(other.origin, greedy));
  const { status, said } = await other.ask('GET', '/v1/events', { key: greedy });
  expect([status, said]).toMatchObject([503, { code: 'unavailable' }]);
  await followBlindly(other.origin, late);
  open[0]?.destroy();
  open[1]?.destroy();
  const asked = async () => {
    const over = new AbortController();
    const headers = { authorization: `Bearer ${greedy}` };
    const reply = await fetch(`${other.origin}/v1/events`, { headers, signal: over.signal });
    over.abort();
    return reply.status;
  };
  await expect.poll(asked).toBe(200);
});

test('Nobody hears more for it that others come with the same key', async () => {
  const own = await key(['read']);
  const over = new AbortController();
  onTestFinished(() => over.abort());
  const headers = { authorization: `Bearer ${own}` };
  const first = await fetch(`${origin}/v1/events`, { headers, signal: over.signal });
  for (let at = 0; at < 40; at += 1) (await watch('/v1/events', { own })).stop();
  const id = await campaign();
  let told = '';
  for await (const piece of first.body ?? []) {
    told += new TextDecoder().decode(piece);
    if (told.includes(id)) break;
  }
  expect(told).not.toContain('still here');
});

test('Following ends nothing that others need', async () => {
  await elsewhere.close();
  expect((await ask('GET', '/v1/campaigns?limit=1')).status).toBe(200);
});
