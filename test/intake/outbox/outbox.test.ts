import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createVolley, type Volley } from '../../../src/app/runtime.js';
import { loadConfig } from '../../../src/base/config/index.js';
import { createEvents } from '../../../src/base/events/events.js';
import { NIGHTLY } from '../../base/parts.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { raceOutbox } from './races.js';
import { NUMBER, SOON, workingVolley } from './working-volley.js';

const place = testRedis('outbox');

const started = () => workingVolley(place);
const inSeconds = (seconds: number): string => new Date(Date.now() + seconds * 1_000).toISOString();

describe('An outbox', () => {
  test('sends what is due, moves a message, and never sends a cancelled one', async () => {
    const { volley, texts } = await started();
    await volley.outboxes.create({ name: 'dentist', message: 'Hi {{name}}' });
    const outbox = volley.outbox('dentist');
    await outbox.put({ id: 'moved', to: NUMBER, name: 'Moved', sendAt: inSeconds(3_600) });
    await outbox.put({ id: 'cancelled', to: NUMBER, name: 'Cancelled', sendAt: inSeconds(5) });
    expect(await outbox.put({ id: 'now', to: NUMBER, name: 'Ada' })).toMatchObject({ outcome: 'created' });
    expect(await outbox.put({ id: 'moved', to: NUMBER, name: 'Moved', sendAt: inSeconds(5) })).toMatchObject({
      outcome: 'updated',
    });
    expect(await outbox.cancel('cancelled')).toEqual({
      id: 'cancelled',
      outcome: 'cancelled',
    });
    await vi.waitFor(
      async () =>
        expect(await outbox.status()).toMatchObject({
          counts: { total: 3, waiting: 0, cancelled: 1, deliveredToTerminal: 2 },
          nextDue: null,
        }),
      SOON,
    );
    expect(texts().sort()).toEqual(['Hi Ada', 'Hi Moved']);
    expect(await outbox.message('now')).toMatchObject({ state: 'deliveredToTerminal', to: NUMBER });
    await expect(outbox.cancel('now')).rejects.toMatchObject({ code: 'sent', statusCode: 409 });
    expect(await outbox.put({ id: 'now', to: NUMBER, name: 'Ada' })).toMatchObject({ outcome: 'unchanged' });
    await expect(outbox.put({ id: 'now', to: NUMBER, name: 'Bea' })).rejects.toMatchObject({ code: 'sent' });
    const report: string[] = [];
    for await (const { id, state } of outbox.report()) report.push(`${id} ${state}`);
    expect(report.sort()).toEqual([
      'cancelled cancelled',
      'moved deliveredToTerminal',
      'now deliveredToTerminal',
    ]);
    // An outbox has the state of a campaign, but is none.
    expect(await volley.list()).toEqual([]);
  });

  test('whose lane has left the configuration takes nothing, says why it waits, and its messages lapse on time', async () => {
    const lanes = join(await mkdtemp(join(tmpdir(), 'volley-outbox-')), 'lanes.json');
    const configure = async (...names: string[]): Promise<Volley> => {
      await writeFile(lanes, JSON.stringify(names.map((name) => ({ name, apiKey: `key-${name}` }))));
      const config = loadConfig({
        ...{
          REDIS_URL: place.url,
          REDIS_PREFIX: `${place.prefix}-removed`,
          LANES_FILE: lanes,
          SENDER_ADDRESS: 'ACME',
        },
        ...{ MESSAGING_BASE_URL: 'http://127.0.0.1:1', ACCOUNT_BASE_URL: 'http://127.0.0.1:1' },
        LOG_LEVEL: 'silent',
      });
      const volley = createVolley({ config, events: createEvents({ level: 'silent' }) });
      onTestFinished(() => volley.close());
      return volley;
    };
    const before = await configure('kept', 'removed');
    await before.outboxes.create({ name: 'codes', lane: 'removed', message: 'Hi', late: '5s' });
    const outbox = before.outbox('codes');
    // Held, so that nothing is sent meanwhile.
    await before.holdLane('removed');
    await outbox.put({ id: 'now', to: NUMBER });
    await outbox.put({ id: 'soon', to: NUMBER, sendAt: inSeconds(3) });
    await outbox.put({ id: 'tomorrow', to: NUMBER, sendAt: inSeconds(86_400) });

    const after = await configure('kept');
    const removed = after.outbox('codes');
    const refused = 'outbox codes takes no messages: lane removed is not configured';
    await expect(removed.put({ id: 'late', to: NUMBER })).rejects.toThrow(refused);
    const all = async (): Promise<void> => {
      for await (const _ of removed.putAll([{ id: 'late', to: NUMBER }]));
    };
    await expect(all()).rejects.toThrow(refused);
    await expect(after.outboxes.create({ name: 'x', lane: 'removed', message: 'Hi' })).rejects.toThrow(
      'no lane removed',
    );
    const reason = 'lane removed is not configured';
    expect(await removed.status()).toMatchObject({ reason, counts: { waiting: 3 } });
    expect(await after.outboxes.list()).toMatchObject([{ name: 'codes', reason }]);
    expect(await removed.message('tomorrow')).toMatchObject({ state: 'waiting', reason });
    // Nothing lapses before a worker runs.
    await after.work().ready;
    await vi.waitFor(
      async () =>
        expect(await removed.status()).toMatchObject({ counts: { total: 3, waiting: 1, lapsed: 2 } }),
      { timeout: 60_000, interval: 200 },
    );
    // It can still be cancelled.
    expect(await removed.cancel('tomorrow')).toMatchObject({ outcome: 'cancelled' });
  });

  test('sends nothing while it is paused, and takes nothing once it is closed', async () => {
    const { volley, texts } = await started();
    await volley.outboxes.create({ name: 'codes', message: 'Code {{code}}' });
    const outbox = volley.outbox('codes');
    await outbox.put({ id: 'a', to: NUMBER, code: 1 });
    await vi.waitFor(() => expect(texts()).toEqual(['Code 1']), SOON);
    await outbox.pause();
    await outbox.put({ id: 'b', to: NUMBER, code: 2 });
    await outbox.put({ id: 'c', to: NUMBER, code: 3 });
    expect(await outbox.status()).toMatchObject({ state: 'paused', counts: { waiting: 2 } });
    await outbox.close();
    await expect(outbox.put({ id: 'd', to: NUMBER, code: 4 })).rejects.toThrow('closed');
    expect(texts()).toEqual(['Code 1']);
    await outbox.resume();
    await vi.waitFor(() => expect(texts().sort()).toEqual(['Code 1', 'Code 2', 'Code 3']), SOON);
    expect(await outbox.status()).toMatchObject({ state: 'closed', counts: { total: 3 } });
  });

  test('never sends a message whose cancel it confirmed, and none twice, however close to its time', async () => {
    const { volley, texts } = await started();
    await volley.outboxes.create({ name: 'race', message: 'Hi {{name}}' });
    const outbox = volley.outbox('race');
    const raced = await raceOutbox(outbox, NIGHTLY ? 200 : 80);
    await vi.waitFor(async () => {
      const { total, cancelled, deliveredToTerminal } = (await outbox.status()).counts;
      expect(cancelled + deliveredToTerminal).toBe(total);
    }, SOON);
    expect(raced.check(texts())).toEqual([]);
  });
});
