import { once } from 'node:events';
import { createServer, connect as dial, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { VolleyEvent } from '../../src/events/events.js';
import { connect } from '../../src/redis/connection.js';
import { keyNames } from '../../src/redis/keys.js';
import { createEventFeed, type FeedItem } from '../../src/reporting/event-feed.js';
import { eventLog } from '../../src/reporting/event-log.js';
import { testRedis } from '../redis/test-redis.js';

const { url, redis, prefix } = testRedis('event-feed');

function withResolvers() {
  let resolve = (): void => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

/** A feed on a log of its own; `process` makes another one of the same log. */
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
});

/** Takes items after the start until there are so many. */
async function take(items: AsyncIterable<FeedItem>, count: number): Promise<string[]> {
  const taken: string[] = [];
  for await (const item of items) {
    if (item.kind === 'start') continue;
    taken.push(item.kind === 'gap' ? 'gap' : 'campaign' in item.event ? item.event.campaign : '');
    if (taken.length === count) break;
  }
  return taken;
}

const upTo = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, at) => String(from + at));

/** A way to Redis whose connections can be made to say nothing any more, without being closed. */
async function openProxy(to: string) {
  const { hostname, port } = new URL(to);
  const open = new Set<Socket>();
  const { promise: asked, resolve } = withResolvers();
  const server = createServer((near) => {
    const far = dial(Number(port), hostname).on('error', () => {});
    near
      .on('error', () => {})
      .on('data', (piece) => {
        if (String(piece).toUpperCase().includes('XREAD')) resolve();
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
  if (address === null || typeof address === 'string') throw new Error('it does not listen');
  return {
    url: Object.assign(new URL(to), { host: `127.0.0.1:${address.port}` }).href,
    asked,
    goAway(): void {
      server.close();
      for (const socket of open) socket.destroy();
    },
    fallSilent(): void {
      for (const socket of open) socket.unpipe().pause();
    },
  };
}

test('A follower hears of what other processes tell, in their order, and of nothing before', async () => {
  const { log, process } = feeds('two');
  const [one, two] = [process(), process()];
  one.tell(resumed(0));
  await one.close();
  const items = two.follow()[Symbol.asyncIterator]();
  const [told] = await log.after('0-0', 1);
  expect(await items.next()).toMatchObject({ value: { kind: 'start', id: told?.id } });
  one.tell(resumed(1));
  expect(await items.next()).toMatchObject({ value: { kind: 'event', event: { campaign: '1' } } });
  await items.return?.();
});

test('Who comes later hears nothing of what was told to those before', async () => {
  const { process } = feeds('later');
  const feed = process();
  const first = feed.follow()[Symbol.asyncIterator]();
  await first.next();
  feed.tell(resumed(1));
  await first.next();
  const second = feed.follow()[Symbol.asyncIterator]();
  await second.next();
  feed.tell(resumed(2));
  expect(await second.next()).toMatchObject({ value: { event: { campaign: '2' } } });
  await Promise.all([first.return?.(), second.return?.()]);
});

test('After an id that no event has had yet there is a gap, and then what happens', async () => {
  const { process } = feeds('ahead');
  const feed = process();
  const items = feed.follow({ after: '999999999999999-0' })[Symbol.asyncIterator]();
  await items.next();
  expect(await items.next()).toMatchObject({ value: { kind: 'gap' } });
  feed.tell(resumed(1));
  expect(await items.next()).toMatchObject({ value: { event: { campaign: '1' } } });
  await items.return?.();
});

test('What happens at every request is not told', async () => {
  const { log, process } = feeds('kinds');
  const feed = process();
  feed.tell({ type: 'sweep.failed', error: new Error('a test') });
  feed.tell(resumed(1));
  await feed.close();
  expect(await log.after('0-0', 10)).toHaveLength(1);
});

test('Everything after an id is told once, what comes meanwhile included', async () => {
  const { log, process } = feeds('resume');
  const feed = process();
  for (let at = 0; at < 1_500; at += 1) await log.append(JSON.stringify(resumed(at)));
  const [first] = await log.after('0-0', 1);
  const items = feed.follow({ after: first?.id });
  const told = (async () => {
    for (let at = 1_500; at < 2_000; at += 1) await log.append(JSON.stringify(resumed(at)));
  })();
  expect(await take(items, 1_999)).toEqual(upTo(1, 2_000));
  await told;
});

test('A follower who is slow misses nothing', async () => {
  const { log, process } = feeds('slow');
  const feed = process();
  const items = feed.follow({ after: '0-0' })[Symbol.asyncIterator]();
  await log.append(JSON.stringify(resumed(0)));
  await items.next();
  await items.next();
  // More than is kept for anybody, while another follower shows that all of it was heard.
  const quick = take(feed.follow({ after: '0-0' }), 5_000);
  for (let at = 1; at < 5_000; at += 1) await log.append(JSON.stringify(resumed(at)));
  expect(await quick).toEqual(upTo(0, 5_000));
  const rest = { [Symbol.asyncIterator]: () => items };
  expect(await take(rest, 4_999)).toEqual(upTo(1, 5_000));
});

test('What is not kept any more is told as a gap', async () => {
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

test('Who follows so slowly that something is cut off before him is told of a gap, too', async () => {
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
  await flood(1, 25_000);
  const rest = { [Symbol.asyncIterator]: () => items };
  const heard: string[] = [];
  for await (const item of rest) {
    heard.push(item.kind === 'event' && 'campaign' in item.event ? item.event.campaign : item.kind);
    if (heard.at(-1) === '24999') break;
  }
  const gap = heard.indexOf('gap');
  expect(heard.filter((told) => told === 'gap')).toHaveLength(1);
  // All before it, and all after it, each once.
  expect(heard.slice(0, gap)).toEqual(upTo(1, gap + 1));
  const after = heard.slice(gap + 1);
  expect(after).toEqual(upTo(Number(after[0]), 25_000));
});

test('What a Redis that forgot does not know any more is told as a gap', async () => {
  const { log, process } = feeds('forgot');
  const feed = process();
  for (let at = 0; at < 3; at += 1) await log.append(JSON.stringify(resumed(at)));
  const [first] = await log.after('0-0', 1);
  await redis.del(keyNames(`${prefix}-forgot`).events);
  await log.append(JSON.stringify(resumed(3)));
  expect(await take(feed.follow({ after: first?.id }), 2)).toEqual(['gap', '3']);
  expect(await take(feed.follow({ after: '0-0' }), 1)).toEqual(['3']);
});

test('A server that is gone without a word is noticed', async () => {
  const { log } = feeds('mute');
  const proxy = await openProxy(url);
  const feed = createEventFeed({ log, connect: () => connect(proxy.url, 'blocking'), waitMs: 100 });
  onTestFinished(() => feed.close());
  const items = feed.follow()[Symbol.asyncIterator]();
  await items.next();
  const next = items.next();
  await proxy.asked;
  proxy.fallSilent();
  feed.tell(resumed(1));
  expect(await next).toMatchObject({ value: { event: { campaign: '1' } } });
  await items.return?.();
});

test('Who goes while Redis is away leaves nothing behind that would keep the process', async () => {
  const { log } = feeds('away');
  const proxy = await openProxy(url);
  const own = connect(proxy.url, 'blocking');
  const feed = createEventFeed({ log, connect: () => own, waitMs: 100 });
  onTestFinished(() => feed.close());
  const over = new AbortController();
  const items = feed.follow({ signal: over.signal })[Symbol.asyncIterator]();
  await items.next();
  const next = items.next();
  await proxy.asked;
  proxy.goAway();
  await once(own, 'reconnecting');
  over.abort();
  expect(await next).toMatchObject({ done: true });
  const disconnect = vi.spyOn(own, 'disconnect');
  // A connection that says nothing is made anew every 3.1 s.
  await delay(3_300);
  expect(disconnect).not.toHaveBeenCalled();
});

test('An id that is none is refused', async () => {
  const { process } = feeds('none');
  await expect(take(process().follow({ after: 'x' }), 1)).rejects.toThrow('no id of an event');
});

test.each([
  ['signal', 'at once'],
  ['signal', 'while it reads'],
  ['signal', 'while it waits'],
  ['closing', 'while it reads'],
  ['closing', 'while it waits'],
])('A %s ends the following %s', async (by, when) => {
  const { log, process } = feeds(`ends-${by}-${when.replaceAll(' ', '-')}`);
  const reading = withResolvers();
  const read = log.after;
  log.after = async (...asked) => {
    const some = await read(...asked);
    reading.resolve();
    return some;
  };
  const feed = process();
  const over = new AbortController();
  const ended = take(feed.follow({ signal: over.signal }), 1).then(
    (taken) => taken,
    () => [],
  );
  if (when !== 'at once') await reading.promise;
  // What was read has been looked at by then, and nothing is to be told.
  if (when === 'while it waits') await new Promise((resolve) => setImmediate(resolve));
  if (by === 'signal') over.abort();
  else await feed.close();
  expect(await ended).toEqual([]);
});
