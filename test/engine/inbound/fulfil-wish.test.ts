import { expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.js';
import { keyNames } from '../../../src/base/redis/keys.js';
import { type WishOptions, wishFulfiller } from '../../../src/engine/inbound/fulfil-wish.js';
import { inFlightMessages } from '../../../src/engine/inbound/in-flight.js';
import { suppression } from '../../../src/engine/suppression/suppression.js';
import { outboxSearch } from '../../../src/intake/outbox/views/outbox-search.js';
import { sentSince } from '../../../src/reporting/sent-since.js';
import { OPERATOR, SUPPRESSING } from '../../app/access/operator.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { sendingVolley } from './sending-volley.js';

const place = testRedis('fulfil-wish');
const { redis, prefix } = place;
const NUMBER = '+4915700000001';
const PEOPLE = Array.from({ length: 50 }, (_, at) => `+4915700001${String(at).padStart(3, '0')}`);

test.each([
  ['while a stop word is carried out', { isLate: true }, 1],
  ['before the stop word arrived', { isLate: false }, 0],
])(
  'A message that was claimed %s, and has ended when another process takes over, is counted if it was in flight',
  async (_, { isLate }, counted) => {
    const own = { ...place, prefix: `${prefix}-${isLate}` };
    const { volley, keys, lane, list, service, send } = await sendingVolley(own);
    await volley.enqueue({ recipients: [{ to: NUMBER }], message: 'Sale' });
    if (!isLate) await send();

    const options = {
      suppression: list,
      scope: 'lane' as const,
      lanes: async () => [lane.id],
      by: OPERATOR,
      clock: systemClock,
      changed: async () => {},
      sentSince: (...[of, number, times]: Parameters<WishOptions['sentSince']>) =>
        sentSince({ redis, keys, outboxes: outboxSearch(redis, keys) }, of, number, times),
    };
    const [s = '0', us = '0'] = await redis.time().then((time) => time.map(String));
    const at = 1_000 * Number(s) + Math.floor(Number(us) / 1_000);
    const stop = { messageId: 'm', from: NUMBER, to: 'ACME', text: 'STOP', at, digests: [] };
    const inFlight = inFlightMessages(redis, keys);
    let reads = 0;
    /** Sends the message between the first reading of the claims and the change of the list, and dies before the second one. */
    const dying = wishFulfiller({
      ...options,
      by: {
        ...OPERATOR,
        async audited(_, run) {
          if (isLate) await send();
          return run();
        },
      },
      inFlight(...wanted) {
        reads += 1;
        if (reads > 1) throw new Error('killed');
        return inFlight(...wanted);
      },
    });
    await expect(dying('stop', lane.id, stop)).rejects.toThrow('killed');
    expect(service.received).toHaveLength(1);

    const other = wishFulfiller({ ...options, inFlight });
    expect(await other('stop', lane.id, stop)).toMatchObject({ isNew: true, inFlight: counted });
  },
);

const message = (messageId: string, at: number, from = NUMBER) => ({
  ...{ messageId, from, to: 'ACME', text: '', at, digests: [] },
});
/** Carries out wishes of people to whom nothing is sent. */
function openWishes(name: string) {
  const list = suppression(redis, keyNames(`${prefix}-${name}`));
  const fulfil = wishFulfiller({
    suppression: list,
    inFlight: async () => new Set(),
    scope: 'lane',
    lanes: async () => ['main'],
    by: OPERATOR,
    clock: systemClock,
    sentSince: async () => [],
    changed: async () => {},
  });
  return { list, fulfil };
}

test('A start word that is carried out late does not lift a later stop', async () => {
  const { list, fulfil } = openWishes('late-start');
  await fulfil('stop', 'main', message('m2', 2_000));
  expect(await fulfil('start', 'main', message('m1', 1_000))).toMatchObject({ isNew: false });
  expect(await list.areSuppressed('main', [NUMBER])).toEqual([true]);
  expect(await fulfil('start', 'main', message('m3', 3_000))).toMatchObject({ isNew: true });
  expect(await list.areSuppressed('main', [NUMBER])).toEqual([false]);
});

test('A start word for a number that others have suppressed as well changes nothing, and says so', async () => {
  const { list, fulfil } = openWishes('suppressed-by-others');
  const { op = '' } = await fulfil('stop', 'main', message('m1', 1_000));
  await list.add([NUMBER], { ...SUPPRESSING, list: 'main' });
  expect(await fulfil('start', 'main', message('m2', 2_000))).toEqual({
    wish: 'start',
    isNew: false,
    inFlight: 0,
  });
  expect(await list.operation(op)).not.toHaveProperty('undone');
  expect(await list.areSuppressed('main', [NUMBER])).toEqual([true]);
});

test('A start word leaves alone what a program has suppressed with the source of stop words', async () => {
  const { list, fulfil } = openWishes('same-source');
  const { id } = await list.add(PEOPLE, { ...SUPPRESSING, source: 'reply', list: 'main' });
  expect(await fulfil('start', 'main', message('m1', 1_000, PEOPLE[0]))).toMatchObject({ isNew: false });
  expect(await list.operation(id)).not.toHaveProperty('undone');
  expect(await list.areSuppressed('main', PEOPLE)).toEqual(PEOPLE.map(() => true));
});

test('A start word that is carried out late does not lift a stop word that was repeated after it', async () => {
  const { list, fulfil } = openWishes('repeated-stop');
  const { op } = await fulfil('stop', 'main', message('m1', 1_000));
  expect(await fulfil('stop', 'main', message('m3', 3_000))).toMatchObject({ op, isNew: false });
  expect(await fulfil('start', 'main', message('m2', 2_000))).toMatchObject({ isNew: false });
  expect(await list.areSuppressed('main', [NUMBER])).toEqual([true]);
  expect(await fulfil('start', 'main', message('m4', 4_000))).toMatchObject({ op, isNew: true });
  expect(await list.areSuppressed('main', [NUMBER])).toEqual([false]);
});

test('A stop word is in force in the end, even if an earlier start word is carried out at the same time', async () => {
  const { list, fulfil } = openWishes('stop-and-start');
  for (const number of PEOPLE) {
    await fulfil('stop', 'main', message(`${number}-1`, 1_000, number));
    await Promise.all([
      fulfil('start', 'main', message(`${number}-2`, 2_000, number)),
      fulfil('stop', 'main', message(`${number}-3`, 3_000, number)),
    ]);
  }
  expect(await list.areSuppressed('main', PEOPLE)).toEqual(PEOPLE.map(() => true));
});

test('Of two stop words that are carried out at the same time, one is new, and a start word lifts both', async () => {
  const { list, fulfil } = openWishes('two-stops');
  for (const number of PEOPLE) {
    const stops = await Promise.all(
      ['a', 'b'].map((id) => fulfil('stop', 'main', message(`${number}-${id}`, 1_000, number))),
    );
    const fresh = stops.filter(({ isNew }) => isNew);
    expect(fresh).toHaveLength(1);
    // So its confirmation is sent.
    expect(await list.isOnlyBy(fresh[0]?.op ?? '', 'main', number)).toBe(true);
    await fulfil('start', 'main', message(`${number}-c`, 2_000, number));
  }
  expect(await list.areSuppressed('main', PEOPLE)).toEqual(PEOPLE.map(() => false));
});
