import { createParser } from 'eventsource-parser';
import { expect, onTestFinished, test } from 'vitest';
import type { LiveData } from '../../../../src/campaign/views/live-views.js';
import { scene } from '../../../scene/scene.js';

const { call, key, volley, origin } = await scene('http-live-stream', { lanes: ['main', 'other'] }).api();

/** A stream that collects what it receives. */
async function watch(path: string, { own, after }: { own?: string; after?: string } = {}) {
  const over = new AbortController();
  onTestFinished(() => over.abort());
  const reply = await fetch(`${origin}${path}`, {
    signal: over.signal,
    headers: {
      authorization: `Bearer ${own ?? (await key())}`,
      ...(after === undefined ? {} : { 'last-event-id': after }),
    },
  });
  expect(reply.status).toBe(200);
  const items: { type: string; data: unknown; id: string | undefined }[] = [];
  let more = (): void => {};
  const parser = createParser({
    onEvent({ event = '', data, id }) {
      items.push({ type: event, data: JSON.parse(data), id });
      more();
    },
  });
  const ended = (async () => {
    const decoder = new TextDecoder();
    for await (const piece of reply.body ?? []) parser.feed(decoder.decode(piece, { stream: true }));
  })().catch(() => {});
  return {
    items,
    ended,
    /** The first item of a type that passes; it waits until there is one. */
    async until<Type extends keyof LiveData>(
      type: Type,
      is: (data: LiveData[Type]) => boolean = () => true,
    ): Promise<LiveData[Type]> {
      for (;;) {
        const found = items.find((item) => item.type === type && is(item.data as LiveData[Type]));
        if (found !== undefined) return found.data as LiveData[Type];
        await new Promise<void>((resolve) => {
          more = resolve;
        });
      }
    },
  };
}

const SOON = { timeout: 60_000 };

/** The items of a type so far. */
const ofType = (items: readonly { type: string; data: unknown }[], wanted: string) =>
  items.flatMap(({ type, data }) => (type === wanted ? [Object(data)] : []));

async function campaign(lane: string, sendAt = '2999-01-01T00:00:00Z'): Promise<string> {
  const body = { lane, recipients: [{ to: '+447700900123' }], message: `Hi ${Math.random()}`, sendAt };
  return ((await call('POST', '/v1/campaigns', { body })).json as { id: string }).id;
}

test('A stream shows the overview, the lanes, and what was asked for in detail', async () => {
  const id = await campaign('main');
  const { until, items } = await watch(`/v1/live?lanes=main&campaigns=${id}&campaigns=nope`);
  const overview = await until('overview');
  expect(overview).toMatchObject({ running: [], lanes: ['main', 'other'] });
  const { status, waiting } = await until('campaign');
  expect([status.id, waiting.code, waiting.until]).toEqual([id, 'scheduled', '2999-01-01T00:00:00.000Z']);
  expect((await until('lane', (lane) => lane.status.name === 'other')).perMinute).toEqual([0, 0, 0, 0, 0]);
  expect(await until('ledger')).toMatchObject({ lane: 'main', used: { send: 0, poll: 0 } });
  expect(await until('gone')).toEqual({ campaign: 'nope' });
  expect(items.filter(({ type, data }) => type === 'ledger' && Object(data).lane !== 'main')).toEqual([]);
});

test('The overview has what starts within a week and what ended within a day, with their statuses', async () => {
  const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();
  const later = await campaign('main', inDays(8));
  const second = await campaign('other', inDays(6));
  const first = await campaign('main', inDays(1));
  const gone = await campaign('main', inDays(2));
  await volley.cancel(gone);
  const { until } = await watch('/v1/live');
  const { scheduled, ended } = await until('overview', (overview) => overview.ended.length > 0);
  expect([scheduled, ended]).toEqual([[first, second], [gone]]);
  for (const id of [first, second, gone])
    expect((await until('campaign', ({ status }) => status.id === id)).status.counts.total).toBe(1);
  for (const id of [later, second, first]) await volley.cancel(id);
});

test('Only what has changed is sent again, and a change with the next tick, of which there is one a second', async () => {
  const id = await campaign('main');
  const { until, items } = await watch(`/v1/live?campaigns=${id}`);
  await until('campaign');
  await until('overview', ({ counts }) => (counts.campaigns['scheduled'] ?? 0) >= 2);
  const [lanes, overviews] = [ofType(items, 'lane').length, ofType(items, 'overview').length];
  const before = ofType(items, 'tick').length;
  await expect.poll(() => ofType(items, 'tick').length, SOON).toBeGreaterThan(before + 2);
  expect([ofType(items, 'lane').length, ofType(items, 'overview').length]).toEqual([lanes, overviews]);
  // By when their reads began, because a busy machine receives ticks late. The event of the change may arrive during the first one. Campaigns
  // are not counted again at once if that took long, as it may on a busy machine, so a change may be shown later, but not each time.
  const isShown = ({ data }: { data: unknown }): boolean => Object(data).attention?.length > 1;
  const lags: number[] = [];
  while (lags.length < 3 && !lags.some((ticks) => ticks <= 2)) {
    const from = items.length;
    const shownAt = (): number => items.findIndex((item, at) => at >= from && isShown(item));
    await volley.pause(id);
    const pausedAt = Date.now();
    await expect.poll(shownAt, SOON).toBeGreaterThanOrEqual(0);
    const since = ofType(items.slice(from, shownAt()), 'tick').filter(({ at }) => Date.parse(at) > pausedAt);
    lags.push(since.length);
    // No worker runs in this test.
    expect(Object(items[shownAt()]?.data).attention).toMatchObject([
      { code: 'workers' },
      { code: 'paused', campaign: id, lane: 'main' },
    ]);
    const { waiting } = await until('campaign', ({ status }) => status.state === 'paused');
    expect(waiting.remedy).toEqual({ operation: 'resumeCampaign', path: `/v1/campaigns/${id}/resume` });
    const resumed = items.length;
    await volley.resume(id);
    await expect
      .poll(() => items.some((item, at) => at >= resumed && item.type === 'overview' && !isShown(item)), SOON)
      .toBe(true);
  }
  expect(Math.min(...lags)).toBeLessThanOrEqual(2);
  await volley.cancel(id);
});

test('An outbox is no running campaign, and one that is paused needs a person, with its own remedy', async () => {
  await volley.outboxes.create({ name: 'codes', message: 'Hi', lane: 'other', sender: 'ACME' });
  const outbox = volley.outbox('codes', { lanes: ['other'] });
  const { until } = await watch('/v1/live');
  await outbox.put({ id: 'm1', to: '+447700900123' });
  await until('overview', ({ counts }) => (counts.recipients['planned'] ?? 0) > 0);
  await outbox.pause();
  const isPaused = ({ attention }: LiveData['overview']) => attention.some(({ code }) => code === 'paused');
  const { attention, running } = await until('overview', isPaused);
  expect(running).toEqual([]);
  expect(attention.find(({ code }) => code === 'paused')).toMatchObject({
    lane: 'other',
    campaign: null,
    name: 'codes',
    remedy: { operation: 'resumeOutbox', path: '/v1/outboxes/codes/resume' },
  });
  await outbox.cancelAll();
  await outbox.resume();
});

test('A key that is limited to a lane sees nothing of another one', async () => {
  const [own, foreign] = [await campaign('main'), await campaign('other')];
  const limited = await key(['read'], ['main']);
  const stream = await watch(`/v1/live?lanes=main&lanes=other&campaigns=${own}&campaigns=${foreign}`, {
    own: limited,
  });
  await volley.pause(foreign);
  await volley.pause(own);
  await stream.until('campaign', ({ status }) => status.state === 'paused');
  await expect.poll(() => stream.items.some(({ type }) => type === 'campaign.paused'), SOON).toBe(true);
  expect(await stream.until('gone')).toEqual({ campaign: foreign });
  expect((await stream.until('overview')).lanes).toEqual(['main']);
  expect(JSON.stringify(stream.items.filter(({ type }) => type !== 'gone'))).not.toMatch(
    new RegExp(`${foreign}|"other"`),
  );
  await volley.cancel(own);
  await volley.cancel(foreign);
});

test('A stream that resumes has each event once', async () => {
  const id = await campaign('main');
  const first = await watch('/v1/live');
  await first.until('overview');
  await volley.pause(id);
  await expect.poll(() => first.items.filter(({ id: own }) => own !== undefined).length, SOON).toBe(1);
  const { id: last } = first.items.find(({ id: own }) => own !== undefined) ?? {};
  await volley.resume(id);
  await volley.pause(id);
  const second = await watch('/v1/live', { after: last ?? '' });
  await expect.poll(() => second.items.filter((item) => /^campaign\./.test(item.type)).length, SOON).toBe(2);
  await second.until('overview');
  expect(second.items.filter(({ type }) => /^campaign\.|gap/.test(type)).map(({ type }) => type)).toEqual([
    'campaign.resumed',
    'campaign.paused',
  ]);
  await volley.cancel(id);
});

test('A ledger shows when the service refused requests, also while no one watched', async () => {
  const refused = (epoch: number) =>
    volley.events.emit({
      type: 'lane.backingOff',
      lane: 'main',
      cause: 'throttled',
      reason: 'the service answered 429',
      until: Date.now(),
      epoch,
    });
  /** Watches until the ledger shows so many. */
  const watchOnce = async (count: number): Promise<number> => {
    let stop = (): void => {};
    const shown = await new Promise<number>((resolve) => {
      stop = volley.watchLive({ allowed: undefined, lanes: ['main'], campaigns: [] }, (items) => {
        const ledger = items.find(({ type }) => type === 'ledger');
        if (ledger !== undefined && JSON.parse(ledger.json).throttledAt.length === count) resolve(count);
      });
    });
    stop();
    return shown;
  };
  expect(await watchOnce(0)).toBe(0);
  refused(1);
  expect(await watchOnce(1)).toBe(1);
  refused(2);
  expect(await watchOnce(2)).toBe(2);
});
