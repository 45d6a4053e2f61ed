import { once } from 'node:events';
import { createServer, connect as dial, type Socket } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { VolleyEvent } from '../../src/base/events/events.js';
import { connect, serverTime } from '../../src/base/redis/connection.js';
import { keyNames } from '../../src/base/redis/keys.js';
import { createEventFeed, type FeedItem } from '../../src/reporting/event-feed.js';
import { eventLog } from '../../src/reporting/event-log.js';
import { testRedis } from '../base/redis/test-redis.js';
import { SOON } from '../base/soon.js';

const { url, redis, prefix } = testRedis('event-feed');

function withResolvers() {
  let resolve = (): void => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

/** A new log; `process` creates a feed on it, as another process would. */
function feeds(name: string) {
  const log = eventLog(redis, keyNames(`${prefix}-${name}`));
  const process = () => {
    const feed = createEventFeed({ log, connect: () => connect(url, 'blocking') });
    onTestFinished(() => feed.close());
    return feed;
  };
  return { log, process };
}

const resumed = (campaign: number): VolleyEvent => ({
  type: 'campaign.resumed',
  lane: 'main',
  campaign: String(campaign),
  actor: 'a test',
});

/** The campaigns of the first `count` items, without the start. */
async function take(items: AsyncIterable<FeedItem>, count: number): Promise<string[]> {
  const taken: string[] = [];
  for await (const item of items) {
    if (item.kind === 'start') continue;
    taken.push(item.kind === 'gap' ? 'gap' : 'campaign' in item.event ? String(item.event.campaign) : '');
    if (taken.length === count) break;
  }
  return taken;
}

const upTo = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, at) => String(from + at));

/** A proxy to Redis that can close its connections or make them silent. */
async function openProxy(to: string) {
  const { hostname, port } = new URL(to);
  const open = new Set<Socket>();
  const { promise: isWaiting, resolve } = withResolvers();
  const server = createServer((near) => {
    const far = dial(Number(port), hostname).on('error', () => {});
    near
      .on('error', () => {})
      .on('data', (chunk) => {
        if (String(chunk).toUpperCase().includes('XREAD')) resolve();
      });
    near.pipe(far).pipe(near);
    open.add(near).add(far);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    for (const socket of open) socket.destroy();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the proxy does not listen');
  return {
    url: Object.assign(new URL(to), { host: `127.0.0.1:${address.port}` }).href,
    isWaiting,
    closeAll(): void {
      server.close();
      for (const socket of open) socket.destroy();
    },
    fallSilent(): void {
      for (const socket of open) socket.unpipe().pause();
    },
  };
}

test('A follower receives the events of other processes in order, from now on', async () => {
  const { log, process } = feeds('two');
  const [one, two] = [process(), process()];
  one.publish(resumed(0));
  await one.close();
  const items = two.follow()[Symbol.asyncIterator]();
  const [published] = await log.after('0-0', 1);
  expect(await items.next()).toMatchObject({ value: { kind: 'start', id: published?.id } });
  one.publish(resumed(1));
  expect(await items.next()).toMatchObject({ value: { kind: 'event', event: { campaign: '1' } } });
  await items.return?.();
});

test('A later follower does not receive events that earlier followers received', async () => {
  const { process } = feeds('later');
  const feed = process();
  const first = feed.follow()[Symbol.asyncIterator]();
  await first.next();
  feed.publish(resumed(1));
  await first.next();
  const second = feed.follow()[Symbol.asyncIterator]();
  await second.next();
  feed.publish(resumed(2));
  expect(await second.next()).toMatchObject({ value: { event: { campaign: '2' } } });
  await Promise.all([first.return?.(), second.return?.()]);
});

test('A follower that resumes after an id in the future receives a gap and then new events', async () => {
  const { process } = feeds('ahead');
  const feed = process();
  const items = feed.follow({ after: '999999999999999-0' })[Symbol.asyncIterator]();
  await items.next();
  expect(await items.next()).toMatchObject({ value: { kind: 'gap' } });
  feed.publish(resumed(1));
  expect(await items.next()).toMatchObject({ value: { event: { campaign: '1' } } });
  await items.return?.();
});

test('Events that are not broadcast are not stored', async () => {
  const { log, process } = feeds('kinds');
  const feed = process();
  feed.publish({ type: 'sweep.failed', error: new Error('a test') });
  feed.publish(resumed(1));
  await feed.close();
  expect(await log.after('0-0', 10)).toHaveLength(1);
});

test('A follower that resumes after an id receives every later event once, including new ones', async () => {
  const { log, process } = feeds('resume');
  const feed = process();
  for (let at = 0; at < 1_500; at += 1) await log.append(JSON.stringify(resumed(at)));
  const [first] = await log.after('0-0', 1);
  const items = feed.follow({ after: first?.id });
  const appended = (async () => {
    for (let at = 1_500; at < 2_000; at += 1) await log.append(JSON.stringify(resumed(at)));
  })();
  expect(await take(items, 1_999)).toEqual(upTo(1, 2_000));
  await appended;
});

test('A slow follower receives every event', async () => {
  const { log, process } = feeds('slow');
  const feed = process();
  const items = feed.follow({ after: '0-0' })[Symbol.asyncIterator]();
  await log.append(JSON.stringify(resumed(0)));
  await items.next();
  await items.next();
  // More events than a follower may have pending. A fast follower shows that the tail has read them all.
  const fast = take(feed.follow({ after: '0-0' }), 2_500);
  for (let at = 1; at < 2_500; at += 1) await log.append(JSON.stringify(resumed(at)));
  expect(await fast).toEqual(upTo(0, 2_500));
  const rest = { [Symbol.asyncIterator]: () => items };
  expect(await take(rest, 2_499)).toEqual(upTo(1, 2_500));
});

test('A follower that resumes after a trimmed event receives a gap', async () => {
  const { log, process } = feeds('gap');
  const feed = process();
  await log.append(JSON.stringify(resumed(0)));
  const [first] = await log.after('0-0', 1);
  const rest = redis.pipeline();
  for (let at = 1; at <= 10_200; at += 1) {
    rest.xadd(keyNames(`${prefix}-gap`).events, '*', 'e', JSON.stringify(resumed(at)));
  }
  await rest.exec();
  await log.append(JSON.stringify(resumed(10_201)));
  expect(await take(feed.follow({ after: first?.id }), 1)).toEqual(['gap']);
  const [newest] = (await log.after('0-0', 20_000)).slice(-2);
  expect(await take(feed.follow({ after: newest?.id }), 1)).toEqual(['10201']);
});

test('A follower that is so slow that events are trimmed before it reads them receives a gap', async () => {
  const { log, process } = feeds('cut');
  const feed = process();
  const key = keyNames(`${prefix}-cut`).events;
  const flood = async (from: number, to: number): Promise<void> => {
    const written = redis.pipeline();
    for (let at = from; at < to; at += 1) {
      written.xadd(key, 'MAXLEN', '~', 10_000, '*', 'e', JSON.stringify(resumed(at)));
    }
    await written.exec();
  };
  await log.append(JSON.stringify(resumed(0)));
  const items = feed.follow({ after: '0-0' })[Symbol.asyncIterator]();
  for (let taken = 0; taken < 2; taken += 1) await items.next();
  await flood(1, 15_000);
  const rest = { [Symbol.asyncIterator]: () => items };
  const received: string[] = [];
  for await (const item of rest) {
    received.push(
      item.kind === 'event' && 'campaign' in item.event ? String(item.event.campaign) : item.kind,
    );
    if (received.at(-1) === '14999') break;
  }
  const gap = received.indexOf('gap');
  expect(received.filter((kind) => kind === 'gap')).toHaveLength(1);
  // Every event before the gap, and every event after it, exactly once.
  expect(received.slice(0, gap)).toEqual(upTo(1, gap + 1));
  const after = received.slice(gap + 1);
  expect(after).toEqual(upTo(Number(after[0]), 15_000));
});

test('A follower that resumes after an event that Redis has lost receives a gap', async () => {
  const { log, process } = feeds('forgot');
  const feed = process();
  for (let at = 0; at < 3; at += 1) await log.append(JSON.stringify(resumed(at)));
  const [first] = await log.after('0-0', 1);
  await redis.del(keyNames(`${prefix}-forgot`).events);
  // Ids contain the time. Within the same ms, the new event would get the id of a lost one; a restart of Redis takes longer.
  const lostAt = Number(first?.id.split('-')[0]);
  await vi.waitUntil(async () => (await serverTime(redis)) > lostAt, { ...SOON, interval: 1 });
  await log.append(JSON.stringify(resumed(3)));
  expect(await take(feed.follow({ after: first?.id }), 2)).toEqual(['gap', '3']);
  expect(await take(feed.follow({ after: '0-0' }), 1)).toEqual(['3']);
});

test('A connection that becomes silent is replaced', async () => {
  const { log } = feeds('mute');
  const proxy = await openProxy(url);
  const feed = createEventFeed({ log, connect: () => connect(proxy.url, 'blocking'), waitMs: 100 });
  onTestFinished(() => feed.close());
  const items = feed.follow()[Symbol.asyncIterator]();
  await items.next();
  const next = items.next();
  await proxy.isWaiting;
  proxy.fallSilent();
  feed.publish(resumed(1));
  expect(await next).toMatchObject({ value: { event: { campaign: '1' } } });
  await items.return?.();
});

test('A follower that leaves while Redis is down leaves no connection or timer behind', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const { log } = feeds('away');
  const proxy = await openProxy(url);
  const own = connect(proxy.url, 'blocking');
  const feed = createEventFeed({ log, connect: () => own, waitMs: 100 });
  onTestFinished(() => feed.close());
  const over = new AbortController();
  const items = feed.follow({ signal: over.signal })[Symbol.asyncIterator]();
  await items.next();
  const next = items.next();
  await proxy.isWaiting;
  proxy.closeAll();
  await once(own, 'reconnecting');
  over.abort();
  expect(await next).toMatchObject({ done: true });
  const disconnect = vi.spyOn(own, 'disconnect');
  // A silent connection is replaced after 3.1 s.
  vi.advanceTimersByTime(3_300);
  expect(disconnect).not.toHaveBeenCalled();
});

test('An invalid event id is rejected', async () => {
  const { process } = feeds('none');
  await expect(take(process().follow({ after: 'x' }), 1)).rejects.toThrow('not a valid event id');
});

test.each([
  ['signal', 'before it starts'],
  ['signal', 'while it reads'],
  ['signal', 'while it waits'],
  ['close', 'while it reads'],
  ['close', 'while it waits'],
])('A %s ends a follower %s', async (by, when) => {
  const { log, process } = feeds(`ends-${by}-${when.replaceAll(' ', '-')}`);
  const reading = withResolvers();
  const read = log.after;
  log.after = async (...args) => {
    const events = await read(...args);
    reading.resolve();
    return events;
  };
  const feed = process();
  const over = new AbortController();
  const ended = take(feed.follow({ signal: over.signal }), 1).then(
    (taken) => taken,
    () => [],
  );
  if (when !== 'before it starts') await reading.promise;
  // By then, the follower has processed the events that it read and has nothing to yield.
  if (when === 'while it waits') await new Promise((resolve) => setImmediate(resolve));
  if (by === 'signal') over.abort();
  else await feed.close();
  expect(await ended).toEqual([]);
});
