import { once } from 'node:events';
import type { Socket } from 'node:net';
import { promisify } from 'node:util';
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { expect, onTestFinished, test, vi } from 'vitest';
import { client } from '../../../scene/api.js';
import { scene } from '../../../scene/scene.js';

const { api, open, prefix, redis } = scene('http-live');
const { call, key, volley, origin } = await api();
/** Acts as another process. */
const elsewhere = open({ API_KEY: 'key' });

/** An id of an event, which does not show when the event happened or how many there were. */
const TOKEN = /^[\w-]{30,60}$/;

let created = 0;
async function campaign(): Promise<string> {
  created += 1;
  const body = {
    recipients: [{ to: '+447700900123' }],
    message: `Hi ${created}`,
    sendAt: '2999-01-01T00:00:00Z',
  };
  return ((await call('POST', '/v1/campaigns', { body })).json as { id: string }).id;
}

interface EventReader {
  /** Resolves to the next event. */
  next(): Promise<EventSourceMessage>;
  /** Resolves when the stream has ended. */
  readonly ended: Promise<void>;
  stop(): void;
}

async function watch(
  path: string,
  { lastEventId, own }: { lastEventId?: string; own?: string } = {},
): Promise<EventReader> {
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
  const received: EventSourceMessage[] = [];
  let more = (): void => {};
  const parser = createParser({
    onEvent(event) {
      received.push(event);
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
      while (received.length === 0) {
        await new Promise<void>((resolve) => {
          more = resolve;
        });
      }
      return received.shift() as EventSourceMessage;
    },
  };
}

/** The next event that is not a status. */
async function nextEvent(
  reader: EventReader,
): Promise<EventSourceMessage & { json: Record<string, unknown> }> {
  for (;;) {
    const event = await reader.next();
    if (event.event !== 'campaign.status') return { ...event, json: JSON.parse(event.data) };
  }
}

test('A stream from 0-0 has all stored events, and a gap names the id after which the stream continues', async () => {
  const id = await campaign();
  const all = await watch(`/v1/campaigns/${id}/events`, { lastEventId: '0-0' });
  const text: string[] = [];
  while (!text.includes('campaign.imported')) text.push((await all.next()).event ?? '');
  all.stop();
  const ahead = await watch('/v1/events', { lastEventId: '999999999999999-0' });
  const { event, data } = await ahead.next();
  expect([event, JSON.parse(data)]).toEqual(['gap', { after: expect.stringMatching(TOKEN) }]);
  ahead.stop();
});

test('A stream that resumes with an id from before Redis lost its data starts with a gap', async () => {
  const first = await watch('/v1/events');
  await campaign();
  const { id } = await nextEvent(first);
  first.stop();
  await redis.del(`${prefix}:positions`);
  // A process that has not read the lost secret, like every process after it.
  const other = await api();
  const reply = await fetch(`${other.origin}/v1/events`, {
    headers: { authorization: `Bearer ${await other.key()}`, 'last-event-id': id ?? '' },
  });
  const bytes = reply.body?.getReader();
  let text = '';
  while (!text.includes('gap')) text += new TextDecoder().decode((await bytes?.read())?.value);
  await bytes?.cancel();
  expect(text).toMatch(/^retry: 2000\nid: ([\w-]+)\n\nevent: gap\ndata: \{"after":"\1"\}\n\n/);
});

test('A stream has the events of every process, each with an id', async () => {
  const id = await campaign();
  const reader = await watch('/v1/events');
  await elsewhere.pause(id);
  await volley.resume(id);
  const [paused, resumed] = [await nextEvent(reader), await nextEvent(reader)];
  expect([paused.event, resumed.event]).toEqual(['campaign.paused', 'campaign.resumed']);
  expect(paused.json).toMatchObject({
    type: 'campaign.paused',
    campaign: id,
    lane: 'default',
    by: 'operator',
  });
  expect(Date.parse(String(paused.json['createdAt']))).toBeGreaterThan(Date.now() - 60_000);
  expect(paused.id).toMatch(TOKEN);
});

test('Times in events are in ISO 8601', async () => {
  const reader = await watch('/v1/events');
  volley.events.emit({ type: 'campaign.launched', lane: 'default', campaign: 'a', sendAt: 0 });
  volley.events.emit({
    type: 'lane.backingOff',
    lane: 'default',
    cause: 'throttled',
    reason: '',
    until: 0,
    epoch: 1,
  });
  const [launched, backingOff] = [await nextEvent(reader), await nextEvent(reader)];
  expect(launched.json).toMatchObject({ campaign: 'a', sendAt: '1970-01-01T00:00:00.000Z' });
  expect(backingOff.json).toMatchObject({
    until: '1970-01-01T00:00:00.000Z',
    epoch: 1,
    createdAt: expect.stringMatching(/^\d{4}-/),
  });
});

test('An unknown event of a later version is passed on unchanged', async () => {
  const reader = await watch('/v1/events');
  const event = { type: 'campaign.teleported', lane: 'default', campaign: 'a', at: 0 };
  await redis.xadd(`${prefix}:events`, '*', 'e', JSON.stringify(event));
  expect(await nextEvent(reader)).toMatchObject({ event: event.type, json: event });
});

test('A client that resumes with the last id receives every event once', async () => {
  const id = await campaign();
  const first = await watch(`/v1/campaigns/${id}/events`);
  await elsewhere.pause(id);
  const paused = await nextEvent(first);
  first.stop();
  await elsewhere.resume(id);
  await campaign();
  await elsewhere.pause(id);
  const second = await watch(`/v1/campaigns/${id}/events`, { lastEventId: paused.id ?? '' });
  await elsewhere.cancel(id);
  const received = [await nextEvent(second), await nextEvent(second), await nextEvent(second)];
  expect(received.map(({ event }) => event)).toEqual([
    'campaign.resumed',
    'campaign.paused',
    'campaign.cancelled',
  ]);
});

test('A new stream has an id to resume from before the first event', async () => {
  const reply = await fetch(`${origin}/v1/events`, { headers: { authorization: `Bearer ${await key()}` } });
  const bytes = reply.body?.getReader();
  const json = new TextDecoder().decode((await bytes?.read())?.value);
  await bytes?.cancel();
  const [id] = /(?<=^id: ).*$/m.exec(json) ?? [];
  const campaignId = await campaign();
  const reader = await watch('/v1/events', { lastEventId: String(id) });
  expect((await nextEvent(reader)).json).toMatchObject({ type: 'campaign.imported', campaign: campaignId });
});

test('The stream of a campaign has its status first, and after each change', async () => {
  const id = await campaign();
  const reader = await watch(`/v1/campaigns/${id}/events`);
  const first = await reader.next();
  expect([first.event, first.id]).toEqual(['campaign.status', undefined]);
  expect(JSON.parse(first.data)).toEqual(JSON.parse(JSON.stringify(await volley.status(id))));
  await elsewhere.cancel(id);
  const states: unknown[] = [];
  while (states.length < 2) {
    const { event, data } = await reader.next();
    if (event === 'campaign.status') states.push(JSON.parse(data).state);
    else states.push(event);
  }
  expect(new Set(states)).toEqual(new Set(['campaign.cancelled', 'cancelled']));
});

test.each(['x', '1', '1-2-3', '-1-0'])('An invalid Last-Event-ID is rejected: %s', async (lastEventId) => {
  const { status, json } = await call('GET', '/v1/events', { headers: { 'last-event-id': lastEventId } });
  expect([status, json]).toMatchObject([
    400,
    { errors: [{ pointer: 'header/last-event-id', message: expect.stringContaining('0-0 for all') }] },
  ]);
});

/** Requests a stream, `times` on one connection, and reads only the headers. */
async function followWithoutReading(at: string, own: string, times = 1): Promise<Socket> {
  const socket = client(at);
  socket.write(`GET /v1/events HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${own}\r\n\r\n`.repeat(times));
  await once(socket, 'data');
  return socket.pause();
}

/** Emits more than the buffers of a connection hold. */
async function emitMany(): Promise<void> {
  const event = { type: 'campaign.resumed', lane: 'default', campaign: 'x'.repeat(1_000_000) };
  for (let at = 0; at < 20; at += 1) await redis.xadd(`${prefix}:events`, '*', 'e', JSON.stringify(event));
}

test('Pipelined streams end with their connection', async () => {
  const other = await api();
  const follow = vi.spyOn(other.volley, 'follow');
  const socket = await followWithoutReading(other.origin, await other.key(), 3);
  await expect.poll(() => follow).toHaveBeenCalledTimes(3);
  socket.destroy();
  await expect
    .poll(() => follow.mock.calls.map(([options]) => options?.signal?.aborted))
    .toEqual([true, true, true]);
  const { json } = await other.call('GET', '/metrics');
  expect(json).toContain('volley_http_requests_in_flight{route="/v1/events"} 0\n');
});

test('A client that does not read its stream is disconnected', async () => {
  const other = await api({}, { stallTimeout: '500ms' });
  const socket = await followWithoutReading(other.origin, await other.key());
  await emitMany();
  const connections = (): Promise<number> =>
    promisify((done: (error: Error | null, count: number) => void) =>
      other.app.server.getConnections(done),
    )();
  await expect.poll(connections).toBe(0);
  socket.destroy();
});

test('A client that does not read its stream does not delay the closing of the server', async () => {
  const other = await api();
  const connected = once(other.app.server, 'connection');
  await followWithoutReading(other.origin, await other.key());
  const [line] = (await connected) as [Socket];
  await emitMany();
  let taken = 0;
  const isFull = (): boolean => {
    const before = taken;
    taken = line.bytesWritten;
    return taken > 1_000_000 && taken === before;
  };
  await expect.poll(isFull, { interval: 200 }).toBe(true);
  await other.app.close();
});

test('A key cannot use up the streams of other keys', async () => {
  const other = await api({}, { maxStreams: 8 });
  const [greedy, late] = [await other.key(), await other.key()];
  const open: Socket[] = [];
  for (let at = 0; at < 4; at += 1) open.push(await followWithoutReading(other.origin, greedy));
  const { status, json } = await other.call('GET', '/v1/events', { key: greedy });
  expect([status, json]).toMatchObject([503, { code: 'unavailable' }]);
  await followWithoutReading(other.origin, late);
  open[0]?.destroy();
  open[1]?.destroy();
  const requestStatus = async () => {
    const over = new AbortController();
    const headers = { authorization: `Bearer ${greedy}` };
    const reply = await fetch(`${other.origin}/v1/events`, { headers, signal: over.signal });
    over.abort();
    return reply.status;
  };
  await expect.poll(requestStatus).toBe(200);
});

test('A stream receives no extra heartbeats when others start with the same key', async () => {
  const own = await key(['read']);
  const over = new AbortController();
  onTestFinished(() => over.abort());
  const headers = { authorization: `Bearer ${own}` };
  const first = await fetch(`${origin}/v1/events`, { headers, signal: over.signal });
  const others = 40;
  for (let at = 0; at < others; at += 1) (await watch('/v1/events', { own })).stop();
  const id = await campaign();
  let text = '';
  for await (const piece of first.body ?? []) {
    text += new TextDecoder().decode(piece);
    if (text.includes(id)) break;
  }
  // A slow machine may need several heartbeats' time for this.
  expect(text.split('heartbeat').length - 1).toBeLessThan(others / 2);
});
