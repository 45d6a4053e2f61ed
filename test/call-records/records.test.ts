import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { keyNames } from '../../src/base/redis/keys.js';
import type { SimulatorOptions } from '../../src/tools/simulator/index.js';
import { startTcpProxy } from '../faults/tcp-proxy.js';
import { scene } from '../scene/scene.js';
import { CONTRACT, WITH_ADDRESS } from './contract/contract.js';
import { contentOf, january, recordsSetting } from './service.js';

const redis = scene('records');
const { open } = redis;
const keys = keyNames(redis.prefix);
const { simulator, volley, events, env } = await recordsSetting(redis);
const { records } = volley;
const NO_FAULTS: SimulatorOptions = {
  records: { failed: 0, empty: 0, expiresAfterMs: null, faults: {}, readFaults: {}, pending: 50 },
};

/** What the simulator accepted for a number, oldest first. */
const acceptedFor = (number: string) =>
  [...simulator.records()].filter(({ values }) => values['number'] === number);

/** The file of a request, which the service must have. */
async function fileOf(...args: Parameters<typeof records.fetch>) {
  const opened = await records.fetch(...args);
  if (opened.kind === 'none') throw new Error(`no file: ${opened.reason}`);
  return opened;
}

const fetched = async (number: string, day = 1): Promise<Buffer> =>
  contentOf((await fileOf(january(day, number))).body);

describe('fetch', () => {
  test('requests, waits, and downloads the file unchanged', async () => {
    const states: string[] = [];
    const opened = await fileOf(january(1, '+3201'), {
      onProgress: ({ state }) => states.push(state),
    });
    const content = await contentOf(opened.body);
    const [accepted, ...others] = acceptedFor('+3201');
    expect(others).toEqual([]);
    const sha256 = createHash('sha256').update(content).digest('hex');
    expect(sha256).toBe(accepted?.sha256);
    expect(opened.length).toBe(content.length);
    expect([...new Set(states)]).toEqual(['pending', 'ready']);
    expect(await records.show(opened.request.id)).toMatchObject({
      state: 'downloaded',
      serviceId: accepted?.id,
      bytes: content.length,
      sha256,
    });
    expect(events.filter(({ type }) => type.startsWith('records.')).map(({ type }) => type)).toEqual([
      'records.requested',
      'records.downloaded',
    ]);
  });

  test('takes up an open request instead of sending it again', async () => {
    const first = await records.request(january(2, '+3202'));
    expect(first.state).toBe('pending');
    expect(await records.request(january(2, '+3202'))).toMatchObject({ id: first.id });
    await fetched('+3202', 2);
    expect(acceptedFor('+3202')).toHaveLength(1);
    // The process may have ended before it had stored the file.
    await fetched('+3202', 2);
    expect(acceptedFor('+3202')).toMatchObject([{ downloads: 2 }]);
  });

  test('sends a request twice only with another key, or when told to', async () => {
    const ids = new Set<string>();
    for (const options of [{}, { key: 'a' }, { key: 'b' }, { key: 'b' }]) {
      ids.add((await records.request({ ...january(3, '+3203'), ...options })).id);
    }
    ids.add((await records.request({ ...january(3, '+3203'), key: 'b' }, { again: true })).id);
    expect(ids.size).toBe(4);
    expect(acceptedFor('+3203')).toHaveLength(4);
  });

  test('does not reuse a file that was requested before its last day was over', async () => {
    const day = (offset: number) => new Date(Date.now() + offset * 86_400_000).toISOString().slice(0, 10);
    // Midnight changes neither what is over nor what is not.
    const [from, past, tomorrow] = [day(-3), day(-2), day(1)];
    const wanted = (to: string) => ({ ...january(1, '+3277'), from, to });
    const get = async (to: string) => {
      const opened = await fileOf(wanted(to));
      await contentOf(opened.body);
      return opened.request;
    };
    const over = await get(past);
    expect(over.lastDayOver).toBe(true);
    expect((await get(past)).id).toBe(over.id);

    const open = await records.request(wanted(tomorrow));
    expect(open.lastDayOver).toBe(false);
    // A request in progress is taken up, so that it is not sent twice.
    expect((await get(tomorrow)).id).toBe(open.id);
    const second = await get(tomorrow);
    expect(second.id).not.toBe(open.id);
    expect(second.lastDayOver).toBe(false);
    expect(acceptedFor('+3277')).toHaveLength(3);
  });

  test('downloads again by id, also in another format', async () => {
    const { id } = await records.request(january(4, '+3204'));
    for (const format of ['csv', 'json', 'csv']) {
      const opened = await fileOf({ id }, { parameters: { format } });
      await contentOf(opened.body);
    }
    expect(acceptedFor('+3204')).toMatchObject([{ downloads: 3 }]);
    await expect(records.fetch({ id }, { parameters: { number: '+1' } })).rejects.toThrow(
      'number belongs to the request',
    );
  });

  test('downloads from an address in the response to the status request', async () => {
    const other = await recordsSetting(redis, { contract: WITH_ADDRESS });
    const opened = await other.volley.records.fetch(january(5, '+3205'));
    if (opened.kind === 'none') throw new Error(opened.reason);
    const content = await contentOf(opened.body);
    expect([...other.simulator.records()]).toMatchObject([
      { downloads: 1, sha256: createHash('sha256').update(content).digest('hex') },
    ]);
  });
});

describe('A request that the service ends otherwise', () => {
  test.each([
    ['failed', { failed: 1 }],
    ['empty', { empty: 1 }],
  ] as const)('is %s', async (state, options) => {
    simulator.configure({ records: options });
    const number = `+3206-${state}`;
    expect(await records.fetch(january(6, number))).toMatchObject({
      kind: 'none',
      request: { state, word: state === 'failed' ? 'error' : 'nothing' },
      mayRepeat: false,
    });
    simulator.configure(NO_FAULTS);
  });

  test('expires after a download, so that the next one is a new request', async () => {
    await fetched('+3222', 22);
    simulator.configure({ records: { expiresAfterMs: 1 } });
    expect(await records.fetch(january(22, '+3222'))).toMatchObject({
      kind: 'none',
      request: { state: 'expired' },
    });
    simulator.configure(NO_FAULTS);
    await fetched('+3222', 22);
    expect(acceptedFor('+3222')).toHaveLength(2);
  });

  test('expires while it is ready', async () => {
    const { id } = await records.request(january(7, '+3207'));
    await expect.poll(async () => (await records.status(id)).state).toBe('ready');
    simulator.configure({ records: { expiresAfterMs: 1 } });
    expect(await records.fetch({ id })).toMatchObject({
      kind: 'none',
      request: { state: 'expired', word: 'gone' },
    });
    simulator.configure(NO_FAULTS);
  });
});

describe('Faults of the service', () => {
  test('A request that was certainly not accepted is sent again', async () => {
    simulator.configure({ records: { faults: { throttle: 1 } } });
    const made = await records.request(january(8, '+3208'));
    expect(made).toMatchObject({ state: 'planned', reason: expect.stringContaining('429') });
    simulator.configure(NO_FAULTS);
    await redis.redis.hdel(keys.records('lane-default', `request:${made.id}`), 'notBefore');
    await fetched('+3208', 8);
    expect(acceptedFor('+3208')).toHaveLength(1);
    expect(await records.show(made.id)).toMatchObject({ state: 'downloaded' });
  });

  test.each(['error500After', 'resetAfter', 'acceptAndHang', 'withoutId', 'error500', 'hang'] as const)(
    'After %s, the outcome is unknown and nothing is sent again',
    async (fault) => {
      simulator.configure({ records: { faults: { [fault]: 1 } } });
      const number = `+3209-${fault}`;
      const made = await records.request(january(9, number));
      simulator.configure(NO_FAULTS);
      expect(made.state).toBe('unknown');
      expect(await records.fetch(january(9, number))).toMatchObject({
        kind: 'none',
        request: { id: made.id },
      });
      expect(acceptedFor(number)).toHaveLength(fault === 'error500' || fault === 'hang' ? 0 : 1);
    },
  );

  test('Faults of status requests and downloads are waited out', async () => {
    simulator.configure({ records: { readFaults: { error500: 0.3, reset: 0.3 } } });
    const content = await fetched('+3210', 10);
    simulator.configure(NO_FAULTS);
    expect(acceptedFor('+3210')).toMatchObject([
      { sha256: createHash('sha256').update(content).digest('hex') },
    ]);
  });

  test('A download that breaks off fails, and its request stays ready', async () => {
    const { id } = await records.request(january(11, '+3211'));
    await expect.poll(async () => (await records.status(id)).state).toBe('ready');
    simulator.configure({ records: { readFaults: { cut: 1 } } });
    const opened = await records.download(id);
    simulator.configure(NO_FAULTS);
    if (opened.kind === 'none') throw new Error(opened.reason);
    await expect(contentOf(opened.body)).rejects.toMatchObject({ mayRepeat: true });
    expect(await records.show(id)).toMatchObject({ state: 'ready', bytes: null });
    expect((await fetched('+3211', 11)).length).toBeGreaterThan(1_000);
    expect(acceptedFor('+3211')).toHaveLength(1);
  });
});

describe('resolve', () => {
  const unknown = async (number: string) => {
    simulator.configure({ records: { faults: { resetAfter: 1 } } });
    const made = await records.request(january(12, number));
    simulator.configure(NO_FAULTS);
    expect(made.state).toBe('unknown');
    return made.id;
  };

  test('takes the id that the service gave the request', async () => {
    const id = await unknown('+3212');
    const [accepted] = acceptedFor('+3212');
    expect(await records.resolve(id, { as: 'accepted', serviceId: accepted?.id ?? '' })).toMatchObject({
      state: 'pending',
      serviceId: accepted?.id,
      reason: null,
    });
    await fetched('+3212', 12);
    expect(acceptedFor('+3212')).toMatchObject([{ downloads: 1 }]);
  });

  test('sends the request again', async () => {
    const id = await unknown('+3213');
    expect(await records.resolve(id, { as: 'resend' })).toMatchObject({ id, state: 'pending' });
    expect(acceptedFor('+3213')).toHaveLength(2);
  });

  test('gives the request up, so that a new one may be sent', async () => {
    const id = await unknown('+3214');
    expect(await records.resolve(id, { as: 'abandon' })).toMatchObject({ state: 'abandoned' });
    await expect(records.resolve(id, { as: 'resend' })).rejects.toThrow('is abandoned');
    expect((await records.request(january(12, '+3214'))).id).not.toBe(id);
  });

  test('refuses a request whose outcome is known', async () => {
    const { id } = await records.request(january(13, '+3215'));
    await expect(records.resolve(id, { as: 'resend' })).rejects.toThrow('only one with an unknown outcome');
    await expect(records.show('nothing')).rejects.toThrow('there is no request for call records nothing');
  });
});

describe('One request of a credential at a time', () => {
  test('holds for requests, status requests, and downloads together', async () => {
    simulator.clear();
    simulator.configure({ latency: 5, records: { bytes: 300_000 } });
    const other = open(env);
    const all = Array.from({ length: 8 }, (_, at) =>
      (at % 2 === 0 ? records : other.records).fetch(january(14, `+33${at}`)).then(async (opened) => {
        if (opened.kind === 'none') throw new Error(opened.reason);
        return (await contentOf(opened.body)).length;
      }),
    );
    const sizes = await Promise.all(all);
    simulator.configure({ latency: 0, records: { bytes: 2_000 } });
    expect(Math.min(...sizes)).toBeGreaterThanOrEqual(300_000);
    expect(simulator.recordsInFlight()).toBe(1);
  });

  test('unless RECORDS_IN_FLIGHT says otherwise', async () => {
    simulator.clear();
    simulator.configure({ latency: 30 });
    const many = open({ ...env, RECORDS_IN_FLIGHT: '4' });
    await Promise.all(Array.from({ length: 8 }, (_, at) => many.records.request(january(15, `+34${at}`))));
    simulator.configure({ latency: 0 });
    expect(simulator.recordsInFlight()).toBeGreaterThan(1);
    expect(simulator.recordsInFlight()).toBeLessThanOrEqual(4);
  });

  test('A caller that does not want to wait learns when to retry', async () => {
    simulator.configure({ latency: 1_500 });
    const running = records.request(january(16, '+3216'));
    await expect.poll(() => redis.redis.zcard(keys.records('lane-default', 'slots'))).toBe(1);
    await expect(records.request(january(16, '+3217'), { wait: '0s' })).rejects.toMatchObject({
      name: 'RecordsBusyError',
      retryInMs: expect.any(Number),
    });
    await running;
    simulator.configure({ latency: 0 });
    expect(acceptedFor('+3217')).toEqual([]);
  });
});

describe('A download whose body is not read', () => {
  const slots = () => redis.redis.zcard(keys.records('lane-default', 'slots'));
  const opened = async (number: string, signal?: AbortSignal) => {
    const file = await fileOf(january(21, number), { signal });
    expect(await slots()).toBe(1);
    return file.body[Symbol.asyncIterator]();
  };

  test('makes room for the next request when its iterator is closed', async () => {
    simulator.configure({ records: { bytes: 900_000 } });
    const body = await opened('+3222');
    await body.return?.();
    expect(await slots()).toBe(0);
    expect(await body.next()).toMatchObject({ done: true });
  });

  test('makes room for the next request when its signal fires', async () => {
    const control = new AbortController();
    const body = await opened('+3223', control.signal);
    control.abort();
    await expect.poll(slots).toBe(0);
    await expect(body.next()).rejects.toMatchObject({ name: 'BrokenDownloadError' });
    // Nor does closing it twice do harm.
    await body.return?.();
    simulator.configure({ records: { bytes: 2_000 } });
  });
});

test('A reader may pause for longer than the service may be silent', async () => {
  simulator.configure({ records: { bytes: 900_000 } });
  const file = await fileOf(january(22, '+3224'));
  let bytes = 0;
  for await (const chunk of file.body) {
    // The contract allows a silence of 2 s.
    if (bytes === 0) await delay(2_500);
    bytes += chunk.length;
  }
  expect(bytes).toBe(file.length);
  simulator.configure({ records: { bytes: 2_000 } });
});

test('A download keeps the next request waiting for as long as it takes', async () => {
  const contract = {
    ...CONTRACT,
    timeouts: { ...CONTRACT.timeouts, status: '1s', silence: '1s' },
  };
  const quick = await recordsSetting(
    { ...redis, prefix: `${redis.prefix}-quick` },
    { contract, simulator: { records: { bytes: 900_000 } } },
  );
  const file = await quick.volley.records.fetch(january(1));
  if (file.kind === 'none') throw new Error(file.reason);
  const body = file.body[Symbol.asyncIterator]();
  await body.next();
  // Its slot would end after 2 s if it were not prolonged.
  await delay(3_000);
  const next = quick.volley.records.request(january(2), { wait: '0s' });
  await expect(next).rejects.toMatchObject({ name: 'RecordsBusyError' });
  await body.return?.();
  expect(await quick.volley.records.request(january(2), { wait: '0s' })).toMatchObject({ state: 'pending' });
});

describe('A request is sent once', () => {
  test('also if two calls send one that was not accepted', async () => {
    simulator.configure({ records: { faults: { throttle: 1 } } });
    const { id } = await records.request(january(23, '+3226'));
    simulator.configure({ ...NO_FAULTS, latency: 100 });
    await redis.redis.hdel(keys.records('lane-default', `request:${id}`), 'notBefore');
    const many = open({ ...env, RECORDS_IN_FLIGHT: '4' });
    const control = new AbortController();
    const fetches = [1, 2].map(() => many.records.fetch({ id }, { signal: control.signal }));
    // The file may be ready before the test first reads the state.
    await expect.poll(async () => (await records.show(id)).state).not.toMatch(/^(planned|requesting)$/);
    control.abort();
    await Promise.allSettled(fetches);
    simulator.configure({ latency: 0 });
    expect(acceptedFor('+3226')).toHaveLength(1);
  });

  test('and not by a process that stood still after its claim', async () => {
    const url = new URL(redis.url);
    const proxy = await startTcpProxy(Number(url.port));
    url.port = String(proxy.port);
    onTestFinished(() => proxy.close());
    const contract = { ...CONTRACT, timeouts: { ...CONTRACT.timeouts, request: '500ms' } };
    const quick = await recordsSetting({ ...redis, prefix: `${redis.prefix}-stopped` }, { contract });
    const slow = open({ ...quick.env, REDIS_URL: url.href });
    const stopped = proxy.trap({ on: 'reply', matching: /"claimed"/, action: () => delay(600) });
    expect(await slow.records.request(january(24, '+3227'))).toMatchObject({ state: 'planned' });
    await stopped;
    expect([...quick.simulator.records()]).toEqual([]);
  });
});

describe('The state in Redis', () => {
  test('is written before the request goes out', async () => {
    simulator.configure({ latency: 1_500 });
    const running = records.request(january(17, '+3218'));
    await expect.poll(() => acceptedFor('+3218').length).toBe(1);
    const [during] = await records.list({ state: 'requesting' });
    expect(during).toMatchObject({ state: 'requesting', parameters: { number: '+3218' } });
    simulator.configure({ latency: 0 });
    expect(await running).toMatchObject({ id: during?.id, state: 'pending' });
  });

  test('makes a request unknown whose process ended, when its claim ends', async () => {
    const { id } = await records.request(january(18, '+3219'));
    const key = keys.records('lane-default', `request:${id}`);
    // As a process leaves it that is killed between the request and its response.
    await redis.redis.hset(key, { state: 'requesting', claimedUntil: Date.now() + 2_000 });
    await redis.redis.hdel(key, 'serviceId');
    expect(await records.show(id)).toMatchObject({ state: 'requesting' });
    expect(await records.fetch({ id })).toMatchObject({ kind: 'none', request: { state: 'unknown' } });
    expect(await records.list({ state: 'unknown', limit: 1 })).toMatchObject([{ id }]);
    expect(acceptedFor('+3219')).toHaveLength(1);
  });

  test('lets a late answer count until the outcome is resolved', async () => {
    const { id } = await records.request(january(19, '+3220'));
    const key = keys.records('lane-default', `request:${id}`);
    await redis.redis.hset(key, { state: 'requesting', claimedUntil: 1 });
    await records.resolve(id, { as: 'abandon' });
    expect(await redis.redis.hget(key, 'claim')).toBeNull();
    expect(await records.show(id)).toMatchObject({ state: 'abandoned' });
  });

  test('is kept for the retention period once the request is over', async () => {
    const { id } = await records.request(january(20, '+3221'));
    const key = keys.records('lane-default', `request:${id}`);
    expect(await redis.redis.pttl(key)).toBe(-1);
    await fetched('+3221', 20);
    expect(await redis.redis.pttl(key)).toBeGreaterThan(29 * 86_400_000);
    await redis.redis.del(key);
    expect((await records.list()).map((each) => each.id)).not.toContain(id);
    expect(await redis.redis.zscore(keys.records('lane-default', 'all'), id)).toBeNull();
  });
});

test('Without addresses and credentials, requests can be listed but not sent', async () => {
  const local = open({ ...env, MESSAGING_BASE_URL: '' });
  expect(await local.records.list({ limit: 1 })).toHaveLength(1);
  await expect(local.records.request(january(1))).rejects.toThrow('need the addresses and credentials');
});

test('Without a contract there are no call records', async () => {
  const { RECORDS_CONTRACT: _contract, ...rest } = env;
  const none = open(rest);
  await expect(none.records.request(january(1))).rejects.toThrow('set RECORDS_CONTRACT');
  expect(await none.records.contract()).toBeNull();
});
