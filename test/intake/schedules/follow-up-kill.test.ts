import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { importCampaign } from '../../../src/intake/import/import-campaign.js';
import { NIGHTLY } from '../../base/parts.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { importFixture, mobile } from '../import/import-fixture.js';
import { sweepers } from './sweepers.js';

const { url, prefix, redis } = testRedis('follow-ups-kill');

const KILLS = NIGHTLY ? 40 : 8;
const FOLLOW_UPS = 12;
/** A process holds a schedule for 300 ms, and is killed, or stopped for longer than that, soon after it has begun to look. */
const SPEED = 100;
const LIFE_MS = 60;
const STOPPED_MS = 600;

test(`After ${KILLS} kills around their times, ${FOLLOW_UPS} follow-ups have created one campaign each`, {
  timeout: 240_000,
}, async () => {
  const { store, start, campaigns } = sweepers({ redis, url, prefix }, SPEED);
  const { deps, lane, stored } = importFixture(redis, prefix);
  const from = await store.now();
  for (let at = 0; at < FOLLOW_UPS; at += 1) {
    const recipients = [{ to: mobile(2 * at) }, { to: mobile(2 * at + 1) }];
    const source = await importCampaign(deps, { message: `Hello ${at}`, recipients });
    if (source.outcome !== 'created') throw new Error(source.outcome);
    // Its second recipient fails.
    await stored.changeState(source.id, { cursor: 2, counts: { deliveredToTerminal: 1, rejected: 1 } });
    await stored.setLetters(source.id, 'TR');
    const results = {
      kind: 'results',
      campaign: source.id,
      status: ['rejected'],
      after: `${at * 100}s`,
    } as const;
    const definition = {
      ...{ name: `follow-up ${at}`, lane, cron: '', zone: 'UTC' },
      ...{ catchUpMs: 7 * 86_400_000, source: results, campaign: { message: `Again ${at}` } },
      overlap: 'skip' as const,
    };
    const createdBy = { kind: 'library', id: null, name: 'a test' } as const;
    await store.add(`follow-up-${at} ${lane}`, definition, null, { createdBy, next: from });
  }
  const states = async (): Promise<string[]> => {
    const found: string[] = [];
    for await (const { state } of store.list()) found.push(state);
    return found;
  };
  const settled = async () => (await states()).filter((state) => state === 'ended').length;
  let kills = 0;
  const lives = async (): Promise<void> => {
    while (kills < KILLS) {
      kills += 1;
      const child = start();
      const ended = once(child, 'exit');
      // It has connected, and looks, when something is imported or has ended.
      const before = await settled();
      await expect
        .poll(async () => (await settled()) > before || (await settled()) === FOLLOW_UPS, { interval: 5 })
        .toBe(true);
      if (Math.random() < 0.5) {
        child.kill('SIGSTOP');
        await delay(Math.random() * STOPPED_MS);
        child.kill('SIGCONT');
      }
      await delay(Math.random() * LIFE_MS);
      child.kill('SIGKILL');
      await ended;
    }
  };
  await Promise.all([lives(), lives()]);
  const last = start();
  await expect.poll(settled).toBe(FOLLOW_UPS);
  const ended = once(last, 'exit');
  last.kill('SIGTERM');
  await ended;
  const texts = (await campaigns()).map(({ text }) => text).filter((text) => text.startsWith('Again'));
  expect(texts.sort()).toEqual(Array.from({ length: FOLLOW_UPS }, (_, at) => `Again ${at}`).sort());
});
