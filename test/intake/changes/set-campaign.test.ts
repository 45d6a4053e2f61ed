import { describe, expect, test } from 'vitest';
import type { Operator } from '../../../src/campaign/states/audit.js';
import { charger } from '../../../src/engine/claim/charge.js';
import { openRequests } from '../../../src/engine/follow-up/requests.js';
import { usedBytes } from '../../../src/engine/recipients/key-bytes.js';
import { readRecord } from '../../../src/engine/recipients/request-records.js';
import { textDigest } from '../../../src/engine/recipients/reservation.js';
import { campaignContent, chargeOfBatch } from '../../../src/engine/sending/campaign-content.js';
import { importCampaign } from '../../../src/intake/import/import-campaign.js';
import { costSoFar } from '../../../src/reporting/accepted-cost.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { storedLane } from '../../scene/stored.js';
import { changeFixture, PEOPLE } from './change-fixture.js';

const { redis, prefix } = testRedis('set-campaign');
const fixture = (environment: Record<string, string> = {}) => changeFixture(redis, prefix, environment);

describe('A new text', () => {
  test('is that of recipients that were not claimed, and of those whose request did not leave', async () => {
    const own = fixture();
    const id = await own.create();
    const [sent, held, ...none] = await own.claim(2);
    if (sent === undefined || held === undefined) throw new Error('no claims');
    await own.settle([sent], 'accepted');
    own.waits = async () => {
      expect(await own.confirm(held)).toBe(false);
      await own.settle([held], 'released');
    };
    expect(await own.set(id, { message: 'Hello {{name}}', sender: 'SHOP' })).toEqual({
      id,
      revision: 1,
      changed: ['message', 'sender'],
      recipientCount: 1,
      cost: null,
    });
    expect(own.waitedMs()).toBeGreaterThan(0);
    const claims = await own.claim();
    expect(none).toEqual([]);
    expect((await own.texts(claims)).sort()).toEqual(['SHOP: Hello Bo', 'SHOP: Hello Cy']);
    expect(await Promise.all(claims.map(own.confirm))).toEqual([true, true]);
  });

  test('is confirmed only when no process can start a request with the earlier one', async () => {
    const own = fixture();
    const id = await own.create();
    await own.claim(1);
    await own.set(id, { message: 'Hello' });
    // A process may send this long after it has last seen that its claim holds.
    expect(own.waitedMs()).toBe(2_000);
    // So it is for a repeated change, whose answer was lost.
    expect(await own.set(id, { message: 'Hello' })).toMatchObject({ revision: 1, changed: [] });
    expect(own.waitedMs()).toBe(4_000);
  });

  test('does not change what may have been accepted, which is repeated as it was', async () => {
    const own = changeFixture(redis, prefix, {}, { repeatFor: 86_400_000 });
    const id = await own.create();
    const claims = await own.claim(1);
    await own.settle(claims, 'unknown', { letter: '-' });
    await own.set(id, { message: 'Hello {{name}}' });
    const again = await own.claim();
    expect(again[0]).toMatchObject({ again: 'underCorrelator', first: 0 });
    expect(await own.texts(again)).toEqual(['12345: Hi Ada', '12345: Hello Bo', '12345: Hello Cy']);
    expect(await Promise.all(again.map(own.confirm))).toEqual([true, true, true]);
  });

  test('does not change what an operator sends again', async () => {
    const own = fixture();
    const id = await own.create();
    const claims = await own.claim(1);
    await own.settle(claims, 'unknown', { letter: '-' });
    await own.set(id, { message: 'Hello {{name}}' });
    await own.set(id, { sender: 'SHOP' });
    await own.resend();
    expect(await own.texts(await own.claim())).toEqual(['12345: Hi Ada', 'SHOP: Hello Bo', 'SHOP: Hello Cy']);
  });

  test('leaves the earlier one nowhere if nothing was claimed', async () => {
    const own = fixture();
    const id = await own.create();
    await own.set(id, { message: 'Hello {{name}}' });
    await own.set(id, { message: 'Dear {{name}}' });
    expect(await own.meta(id)).toMatchObject({ revision: 2, text: 'Dear {{name}}' });
    expect((await own.meta(id)).earlier).toBeUndefined();
    expect(await own.texts(await own.claim())).toEqual([
      '12345: Dear Ada',
      '12345: Dear Bo',
      '12345: Dear Cy',
    ]);
  });

  test('uses only the columns whose values the campaign keeps, and the error names the other', async () => {
    const own = fixture();
    const id = await own.create();
    const change = own.set(id, { message: 'Hi {{name}} in {{city}}' });
    await expect(change).rejects.toThrow(/\{\{city\}\}.*keeps the values only of \{\{name\}\}/s);
    await expect(change).rejects.toMatchObject({ field: 'message' });
    expect((await own.meta(id)).revision).toBeUndefined();
    await own.set(id, { message: 'Hi all' });
    expect(await own.texts(await own.claim())).toEqual(['12345: Hi all', '12345: Hi all', '12345: Hi all']);
  });
});

const HOUR_MS = 3_600_000;
const inHours = (hours: number): number => Date.now() + hours * HOUR_MS;

describe('The start of a campaign', () => {
  test('can be put off and brought forward while nothing was claimed', async () => {
    const own = fixture();
    const id = await own.create({ sendAt: inHours(1), validFor: '2h' });
    const at = inHours(3);
    expect(await own.set(id, { sendAt: at })).toMatchObject({ changed: ['sendAt'] });
    expect(await own.state(id)).toMatchObject({
      state: 'scheduled',
      launchAt: at,
      lapseAt: at + 2 * HOUR_MS,
    });
    expect(await own.claim()).toEqual([]);
    await own.set(id, { sendAt: null });
    expect(await own.claim()).toHaveLength(3);
    expect((await own.state(id)).lapseAt).toBeLessThan(inHours(2) + 1_000);
  });

  test('can be put off if it runs, and has sent nothing', async () => {
    const own = fixture();
    const id = await own.create();
    await own.set(id, { sendAt: inHours(1) });
    expect(await own.state(id)).toMatchObject({ state: 'scheduled' });
    expect(await own.claim()).toEqual([]);
  });

  test('cannot change once something was claimed, and not to a time that has passed', async () => {
    const own = fixture();
    const id = await own.create();
    await expect(own.set(id, { sendAt: Date.now() - 1 })).rejects.toThrow('the time is in the past');
    await own.claim(1);
    await expect(own.set(id, { sendAt: inHours(1) })).rejects.toMatchObject({ code: 'invalidState' });
    expect(await own.state(id)).toMatchObject({ state: 'running' });
  });
});

describe('Another setting', () => {
  test('is a window, in which the campaign waits, and which can be removed', async () => {
    const own = fixture();
    const id = await own.create();
    const [claim] = await own.claim(1);
    const closed = { hours: 'Mon-Sun 00:00-00:01', except: [] };
    await own.set(id, { window: closed, zone: 'UTC' });
    expect(claim && (await own.confirm(claim))).toBe(false);
    expect(await own.claim()).toEqual([]);
    expect((await own.state(id)).opensAt).toBeGreaterThan(Date.now());
    expect(await own.set(id, { window: null })).toMatchObject({ changed: ['window'] });
    expect(await own.claim()).toHaveLength(2);
  });

  test('is a priority, a validity, or tags', async () => {
    const own = fixture();
    const id = await own.create();
    await own.set(id, { priority: 'high', validFor: '1h', tags: ['b', 'a'] });
    expect(await own.state(id)).toMatchObject({ weight: 4 });
    expect((await own.state(id)).lapseAt).toBeGreaterThan(inHours(0.9));
    expect(await own.meta(id)).toMatchObject({ tags: ['a', 'b'], priority: 'high', validForMs: HOUR_MS });
    await own.set(id, { validFor: null });
    expect((await own.state(id)).lapseAt).toBe(0);
    expect(await redis.zscore(own.keys.lane(own.lane.id, 'lapsing'), id)).toBeNull();
  });
});

describe('A change', () => {
  test('is refused with the current revision if it is about another one', async () => {
    const own = fixture();
    const id = await own.create();
    await own.set(id, { message: 'Hello' }, { revision: 0 });
    const stale = own.set(id, { message: 'Dear' }, { revision: 0 });
    await expect(stale).rejects.toMatchObject({ code: 'unexpected', revision: 1 });
    expect((await own.meta(id)).text).toBe('Hello');
  });

  test('is sent only when a server that may lose writes can no longer lose it', async () => {
    const own = fixture();
    const id = await own.create();
    const stored = storedLane(own.lane);
    await stored.changeRecord({ mayLoseMs: 60_000 });
    const before = Date.now();
    await own.set(id, { message: 'Hello' });
    expect((await stored.state(id))['notBefore']).toBeGreaterThanOrEqual(before + 60_000);
  });

  test('counts for the memory of the key that has created the campaign, and is refused if there is none left', async () => {
    const own = fixture();
    const by: Operator = { ...own.deps.by, actor: { kind: 'key', id: 'small', name: 'small' } };
    const created = await importCampaign(
      { ...own.deps, by },
      { message: 'Hi', recipients: PEOPLE, again: true },
    );
    if (created.outcome !== 'created') throw new Error(created.outcome);
    const used = () => usedBytes(redis, own.keys, own.lane.id, 'small');
    const before = await used();
    await own.set(created.id, { message: 'x'.repeat(160) });
    expect((await used()) - before).toBeGreaterThan(150);
    const full = own.set(created.id, { message: 'x'.repeat(300) }, { keyBytes: before });
    await expect(full).rejects.toThrow('API key small has no room left');
    expect((await own.meta(created.id)).text).toHaveLength(160);
  });

  test('changes nothing as a preview, and says what it would do', async () => {
    const own = fixture({ PRICE_PER_SEGMENT: '0.05 EUR' });
    const id = await own.create();
    expect(await own.set(id, { message: 'x'.repeat(161) }, { preview: true })).toEqual({
      id,
      revision: 0,
      changed: ['message'],
      recipientCount: 3,
      cost: { total: '0.30', currency: 'EUR' },
    });
    expect((await own.meta(id)).text).toBe('Hi {{name}}');
  });

  test('is refused as a preview where the change is', async () => {
    const own = fixture();
    const id = await own.create();
    await own.claim(1);
    for (const preview of [true, false])
      await expect(own.set(id, { sendAt: Date.now() + HOUR_MS }, { preview })).rejects.toThrow(
        'has started to send, so its start cannot be changed any more',
      );
    await own.lane.commands.campaign('cancel', id);
    await expect(own.set(id, { tags: ['a'] }, { preview: true })).rejects.toThrow(
      `campaign ${id} is cancelled`,
    );
  });

  test('is refused for a campaign that has ended, or has nothing left to send', async () => {
    const own = fixture();
    const id = await own.create();
    await own.settle(await own.claim(), 'accepted');
    await expect(own.set(id, { message: 'Hello' })).rejects.toThrow('has nothing left to send');
    const cancelled = await own.create({ message: 'Other {{name}}' });
    await own.lane.commands.campaign('cancel', cancelled);
    await expect(own.set(cancelled, { tags: ['a'] })).rejects.toThrow(`campaign ${cancelled} is cancelled`);
  });

  test('waits while an import compares its list with the campaigns of the new text', async () => {
    const own = fixture();
    const id = await own.create();
    const key = own.keys.lane(own.lane.id, `comparing:${textDigest('Hello', '12345')}`);
    await redis.set(key, 'other');
    own.waits = async () => void (await redis.del(key));
    await own.set(id, { message: 'Hello' });
    expect(own.waitedMs()).toBe(100);
  });

  test('starts again if something is claimed for the first time meanwhile', async () => {
    const own = fixture();
    const id = await own.create();
    const { by } = own.deps;
    const [first] = await Promise.all([
      own.set(
        id,
        { message: 'Hello' },
        {
          by: {
            ...by,
            audited: async (_, run) => {
              if ((await own.state(id)).cursor === 0)
                await own.settle(await own.claim(1), 'unknown', { letter: '-' });
              return run();
            },
          },
        },
      ),
    ]);
    expect(first).toMatchObject({ revision: 1, recipientCount: 2 });
    await own.resend();
    expect((await own.texts(await own.claim())).sort()).toEqual([
      '12345: Hello',
      '12345: Hello',
      '12345: Hi Ada',
    ]);
  });

  test('leaves a repeated creation equal to the campaign as it was created', async () => {
    const own = fixture();
    const input = { idempotencyKey: 'k', tags: ['a'], validFor: '5h' };
    const id = await own.create(input);
    await own.set(id, { message: 'Hello', tags: ['b'], validFor: null, priority: 'high' });
    await own.set(id, { message: 'Dear', tags: null, sender: 'SHOP', priority: null });
    const again = { message: 'Hi {{name}}', recipients: PEOPLE, ...input };
    expect(await importCampaign(own.deps, again)).toMatchObject({ outcome: 'existing', id });
    for (const message of ['Hello', 'Dear'])
      expect(await importCampaign(own.deps, { ...again, message })).toMatchObject({ code: 'conflict' });
  });

  test('is seen by an import that leaves out who gets its text', async () => {
    const own = fixture();
    const id = await own.create();
    await own.settle(await own.claim(1), 'accepted');
    await own.set(id, { message: 'Hello' });
    for (const message of ['Hello', 'Hi {{name}}'])
      expect(
        await importCampaign(own.deps, { message, recipients: PEOPLE, sentBefore: 'count', again: true }),
      ).toMatchObject({ preview: { sentBefore: { recipientCount: 3 } } });
  });
});

describe('The cost of a changed campaign', () => {
  test('is that of the new text for those who were not claimed, exactly, and so is that of what was accepted', async () => {
    const own = fixture({ PRICE_PER_SEGMENT: '0.05 EUR' });
    const id = await own.create();
    await own.settle(await own.claim(1), 'accepted');
    expect(await own.set(id, { message: 'x'.repeat(161) })).toMatchObject({ cost: { total: '0.25' } });
    await own.settle(await own.claim(1), 'accepted');
    const [meta, state] = [await own.meta(id), await own.state(id)];
    expect(await costSoFar(redis, own.keys, meta, state, { isDetailed: true })).toBe(150_000n);
  });

  test('is refused above a limit, or if a message has too many segments, and nothing changes', async () => {
    const own = fixture({ PRICE_PER_SEGMENT: '0.05 EUR' });
    const id = await own.create();
    const message = 'x'.repeat(161);
    await expect(own.set(id, { message, maxCost: 0.2 })).rejects.toMatchObject({ code: 'overBudget' });
    const by = (limits: Operator['limits']): Operator => ({ ...own.deps.by, limits });
    const long = own.set(id, { message }, { by: by({ maxSegments: 1 }) });
    await expect(long).rejects.toThrow(/recipient 1 of the list gets a message of 2 segments/);
    const dearer = own.set(id, { message }, { by: by({ costPerDay: '50' }) });
    await expect(dearer).rejects.toMatchObject({ code: 'overLimit', limit: 'costPerDay' });
    const sender = own.set(id, { sender: 'SHOP' }, { by: by({ senders: ['ACME'] }) });
    await expect(sender).rejects.toMatchObject({ code: 'overLimit', limit: 'senders' });
    const abroad = own.set(id, { message: 'Hello' }, { by: by({ countries: ['DE'] }) });
    await expect(abroad).rejects.toMatchObject({ limit: 'countries' });
    expect((await own.meta(id)).revision).toBeUndefined();
    await own.set(id, { message, maxCost: 0.3 });
  });
});

test('A request is followed up under the sender with which it was sent', async () => {
  const own = fixture();
  const id = await own.create();
  await own.settle(await own.claim(1), 'accepted');
  await own.set(id, { sender: 'SHOP' });
  await own.settle(await own.claim(1), 'accepted');
  const requests = openRequests(own.lane, campaignContent(own.lane));
  const found = await requests.find([0, 1].map((first) => ({ campaign: id, first, number: 1, turn: 't' })));
  expect(found).toMatchObject([{ sender: '12345' }, { sender: 'SHOP' }]);
  const records = await readRecord(redis, own.keys, own.lane.id, id, 1);
  expect(records).toMatchObject({ edition: 1, requestId: 'r1' });
});

test('A batch is charged for the text with which it was claimed', async () => {
  const own = fixture({ PRICE_PER_SEGMENT: '0.05 EUR' });
  const id = await own.create();
  const claims = [...(await own.claim(1))];
  await own.set(id, { message: 'x'.repeat(161) });
  claims.push(...(await own.claim(1)));
  const chargeOf = charger(own.deps.config.prices);
  const charges = claims.map((claim) => chargeOfBatch(own.lane, claim, chargeOf));
  expect(await Promise.all(charges)).toEqual([
    [1, 50_000],
    [2, 100_000],
  ]);
  // One that cannot be read any more is not charged for.
  const [lost] = claims.map((claim) => ({ ...claim, campaign: 'gone' }));
  expect(lost && (await chargeOfBatch(own.lane, lost, chargeOf))).toBeUndefined();
});

describe("With a window in each recipient's own zone", () => {
  const window = { hours: 'Mon-Sun 00:00-24:00', zone: 'recipient' } as const;
  // The parts of the list begin with Tokyo's recipients, each of them a batch.
  const zones = ['Asia/Tokyo', 'Europe/Oslo', 'Asia/Tokyo'];
  const recipients = PEOPLE.map((person, at) => ({ ...person, zone: zones[at] }));

  test('the text changes for those who were never claimed, in all zones, and its price with it', async () => {
    const own = fixture({ PRICE_PER_SEGMENT: '0.05 EUR' });
    const id = await own.create({ window: { ...window, hours: hoursNow('Europe/Oslo') }, recipients });
    expect(await own.set(id, { message: 'Hello {{name}}', priority: 'high' })).toMatchObject({
      changed: ['message', 'priority'],
    });
    expect(await own.texts(await own.claim())).toEqual(['12345: Hello Bo']);
    const long = 'x'.repeat(161);
    expect(await own.set(id, { message: long })).toMatchObject({ cost: { total: '0.25' } });
    await own.set(id, { window });
    expect(await own.texts(await own.claim())).toEqual([`12345: ${long}`, `12345: ${long}`]);
    await expect(own.set(id, { sendAt: Date.now() + 60_000 })).rejects.toThrow();
  });

  test('the hours change, also for the zone that is being claimed', async () => {
    const own = fixture();
    const id = await own.create({ window, recipients });
    expect(await own.claim(1)).toHaveLength(1);
    const hours = hoursWithout(new Date());
    expect(await own.set(id, { window: { hours } })).toMatchObject({ changed: ['window'] });
    expect(await own.claim()).toEqual([]);
    expect((await own.state(id)).opensAt).toBeGreaterThan(Date.now());
    await own.set(id, { window });
    expect((await own.claim()).length).toBe(2);
  });

  test('a text and a window change while recipients wait for times of their own, which they keep', async () => {
    const own = fixture();
    const sendAt = new Date(Date.now() + 3_600_000).toISOString();
    const id = await own.create({
      recipients: PEOPLE.map((person, at) =>
        at === 0 ? { ...person, sendAt: new Date().toISOString() } : { ...person, sendAt },
      ),
    });
    expect(await own.texts(await own.claim())).toEqual(['12345: Hi Ada']);
    const hours = hoursNow('Europe/Oslo');
    expect(
      await own.set(id, { message: 'Dear {{name}}', window: { hours }, zone: 'Europe/Oslo', validFor: '2h' }),
    ).toMatchObject({ changed: expect.arrayContaining(['message', 'window', 'validFor']) });
    expect(await own.claim()).toEqual([]);
    await own.set(id, { window: null });
    expect(await own.claim()).toEqual([]);
    expect((await own.state(id)).opensAt).toBe(Date.parse(sendAt));
  });

  test('another kind of window is refused, and so are hours that never come', async () => {
    const own = fixture();
    const id = await own.create({ window, recipients });
    for (const other of [null, { hours: 'Mon-Sun 09:00-20:00' }])
      await expect(own.set(id, { window: other, zone: 'Europe/Oslo' })).rejects.toThrow('cannot change');
    const plain = await own.create({ again: true });
    await expect(own.set(plain, { window })).rejects.toThrow('cannot change');
    const except = Array.from({ length: 400 }, (_, day) =>
      new Date(Date.now() + (day - 2) * 86_400_000).toISOString().slice(0, 10),
    );
    await expect(
      own.set(id, { window: { hours: 'Mon-Sun 09:00-10:00', zone: 'recipient', except } }),
    ).rejects.toMatchObject({ errors: [{ pointer: expect.stringContaining('/window') }] });
    expect((await own.claim()).length).toBeGreaterThan(0);
  });
});

/** Hours that are open now in a zone, and closed where it is eight hours later. */
function hoursNow(zone: string): string {
  const hour = Number(new Date().toLocaleString('en-GB', { timeZone: zone, hour: '2-digit' }));
  return `Mon-Sun ${String(Math.min(hour, 22)).padStart(2, '0')}:00-${Math.min(hour, 22) + 2}:00`;
}

/** Hours that are closed now in Tokyo and in Oslo, and two hours before and after. */
function hoursWithout(now: Date): string {
  const hour = now.getUTCHours();
  const closed = [9, 1, 2].flatMap((offset) =>
    [-2, -1, 0, 1, 2].map((more) => (hour + offset + more + 24) % 24),
  );
  const open = Array.from({ length: 24 }, (_, at) => at).find((at) => !closed.includes(at)) ?? 0;
  return `Mon-Sun ${String(open).padStart(2, '0')}:00-${String(open).padStart(2, '0')}:59`;
}
