import { expect, test, vi } from 'vitest';
import type { Volley } from '../../../src/app/volley.js';
import { SOON } from '../../base/soon.js';
import { scene } from '../../scene/scene.js';

const { api, open, shell, startSimulator, lanesFile } = scene('usage', {
  settings: { REDIS_MAY_LOSE: '0s' },
});
const tagged = scene('usage-tags');
const PRICES = { PRICE_PER_SEGMENT: '0.05 EUR', SENDER_ADDRESS: 'ACME' };
const today = new Date().toISOString().slice(0, 10);

/** A process with the lanes `east` and `west`, whose simulator delivers at once, and what it has sent. */
async function sent() {
  const simulator = await startSimulator({
    keys: [{ key: 'key-east' }, { key: 'key-west' }],
    deliveryTime: 1,
  });
  const lanes = lanesFile(['east', 'west']);
  const settings = { ...simulator.settings, ...PRICES, LANES_FILE: lanes };
  const volley = open({ ...settings, ALLOW_INSECURE: 'service' });
  const key = await volley.keys.create({ name: 'shop', scopes: ['send'] });
  const shop: Volley = volley.as({ kind: 'key', id: key.id, name: 'shop' });
  const numbers = Array.from({ length: 4 }, (_, at) => ({ to: `+44770090010${at}` }));
  await volley.suppression.add(['+447700900103']);
  const campaign = { message: 'Hi', lane: 'east', recipients: numbers, tags: ['news', 'spring'] };
  await shop.enqueue(campaign);
  const long = { message: 'x'.repeat(161), lane: 'west', recipients: numbers.slice(0, 2), tags: ['news'] };
  await volley.enqueue(long);
  await volley.outboxes.create({ name: 'box', lane: 'west', message: 'Hi', tags: ['reminders'] });
  await volley.outbox('box').put({ id: 'm', to: '+447700900109' });
  const workers = volley.work({});
  const delivered = async (): Promise<boolean> => {
    const [day] = await volley.usage();
    return day?.outcomes.deliveredToTerminal === 6;
  };
  await vi.waitUntil(delivered, SOON);
  await workers.drain();
  return { volley, key, settings };
}
const made = sent();

const counts = (messages: number, segments: number, cost: string, more: object = {}) => ({
  ...{ messageCount: messages, segmentCount: segments, cost },
  outcomes: expect.objectContaining({ deliveredToTerminal: messages, suppressed: 0, ...more }),
});

test('Messages, segments, cost, and outcomes are counted by day and tag, each once', async () => {
  const { volley } = await made;
  const suppressed = { suppressed: 1 };
  expect(await volley.usage()).toEqual([
    {
      day: today,
      ...counts(6, 8, '0.40 EUR', suppressed),
      tags: [
        { tag: 'news', ...counts(5, 7, '0.35 EUR', suppressed) },
        { tag: 'reminders', ...counts(1, 1, '0.05 EUR') },
        { tag: 'spring', ...counts(3, 3, '0.15 EUR', suppressed) },
      ],
    },
  ]);
});

test('Usage is that of lanes, of a tag, and of a key, and says nothing about other days', async () => {
  const { volley, key } = await made;
  const messages = async (options: object) =>
    (await volley.usage(options)).map((day) => [day.messageCount, day.tags.map(({ tag }) => tag).join()]);
  expect(await messages({ lanes: ['west'] })).toEqual([[3, 'news,reminders']]);
  expect(await messages({ tag: 'news' })).toEqual([[5, 'news']]);
  expect(await messages({ key: key.id })).toEqual([[3, 'news,spring']]);
  expect(await messages({ key: key.id, lanes: ['west'] })).toEqual([]);
  expect(await messages({ from: '2020-01-01', to: '2020-01-31' })).toEqual([]);
});

test.each([
  [{ from: 'yesterday' }, 'is not a day'],
  [{ to: '2030-02-31' }, 'is not a day'],
  [{ from: '2030-02-02', to: '2030-02-01' }, 'the first day is after the last one'],
  [{ from: '2030-01-01', to: '2031-02-05' }, 'there are more than 400 days'],
])('Usage of %o is refused', async (options, problem) => {
  const { volley } = await made;
  await expect(volley.usage(options)).rejects.toThrow(problem);
});

test('A key for a lane sees the usage of that lane over HTTP, and the command line shows it all', async () => {
  const { settings } = await made;
  const { call, key, volley } = await api({ LANES_FILE: settings.LANES_FILE, ...PRICES });
  const { json } = await call('GET', `/v1/usage?from=${today}&tag=news`, {
    key: await key(['read'], ['east']),
  });
  // Whether a key of another tenant exists is not its business.
  const { id: other } = await volley.keys.create({ name: 'west', scopes: ['send'], lanes: ['west'] });
  for (const each of [other, '0123456789ab'])
    expect(await call('GET', `/v1/usage?key=${each}`, { key: await key(['read'], ['east']) })).toMatchObject({
      ...{ status: 200, json: { days: [] } },
    });
  expect(json).toMatchObject({ lanes: ['east'], days: [{ day: today, messageCount: 3, cost: '0.15 EUR' }] });
  const shown = await shell({ LANES_FILE: settings.LANES_FILE, ...PRICES }).volley('usage');
  expect(shown.stdout).toMatch(new RegExp(`${today} +6 +8 +0.40 EUR +6 +0 +news,reminders,spring`));
});

test('A day has 200 tags, and counts the rest as other', async () => {
  const volley = tagged.open({ ...PRICES, API_KEY: 'key' });
  const to = '+447700900123';
  await volley.suppression.add([to]);
  for (let at = 0; at < 21; at += 1) {
    const tags = Array.from({ length: 10 }, (_, one) => `tag-${at * 10 + one}`);
    await volley.enqueue({ message: `Hi ${at}`, recipients: [{ to }], tags, again: true });
  }
  const [day] = await volley.usage();
  expect(day?.outcomes.suppressed).toBe(21);
  expect(day?.tags).toHaveLength(201);
  expect(day?.tags.find(({ tag }) => tag === 'other')?.outcomes.suppressed).toBe(1);
});
