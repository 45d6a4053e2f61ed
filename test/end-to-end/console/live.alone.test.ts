import type { Page } from 'playwright-core';
import { afterEach, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest';
import { until } from './screens.js';
import { stage } from './stage.js';
import { recipients, type Up } from './up.js';

const LANES = ['main', 'auto', 'north', 'south'] as const;
const CAMPAIGNS = 5;
const PROBES = 20;

describe.skipIf(inject('chromium') === null)('A page that stays open', () => {
  const on = stage({ lanes: LANES.map((name) => ({ name, hourlyQuota: 100_000 })) });
  beforeAll(async () => {
    // So that the campaigns run on, and leave the machine to the page.
    await on.up.simulate({ latency: 2_000 });
  });
  /** A campaign that was sent, with its reports. */
  const sendOne = async (name: string): Promise<string> => {
    const id = await on.up.send({
      name,
      lane: 'main',
      message: `Hi from ${name}`,
      recipients: recipients(1),
    });
    await until(async () => {
      const { state } = await on.up.api<{ state: string }>('GET', `/v1/campaigns/${id}`);
      return state === 'completed';
    });
    return id;
  };

  test('shows within a second what has changed in Redis, with five campaigns on four lanes', {
    timeout: 120_000,
  }, async () => {
    for (let at = 0; at < CAMPAIGNS; at++)
      await on.up.send({
        name: `Campaign ${at}`,
        lane: LANES[at % LANES.length],
        message: `Number {{name}} of ${at}`,
        recipients: recipients(5_000, at * 5_000),
      });
    const { page } = await on.visit({ key: await on.up.key() });
    await expect.poll(() => page.getByRole('link', { name: /^Campaign \d$/ }).count()).toBe(CAMPAIGNS);
    const times: number[] = [];
    for (let at = 0; at < PROBES; at++) {
      const [command, state] = at % 2 === 0 ? ['hold', 'Held'] : ['resume', 'Open'];
      const shown = shownAt(page, 'south', state);
      await on.up.api('POST', `/v1/lanes/south/${command}`, {});
      const storedAt = Date.now();
      times.push((await shown) - storedAt);
    }
    times.sort((a, b) => a - b);
    const within = (share: number): number => times[Math.ceil(times.length * share) - 1] ?? Number.NaN;
    console.error(`Redis to pixels: median ${within(0.5)} ms, p95 ${within(0.95)} ms, of ${PROBES}.`);
    expect(within(0.95)).toBeLessThan(1_000);
    const { lanes } = await on.up.api<{ lanes: { campaigns: { running: number } }[] }>('GET', '/v1/lanes');
    // The campaigns were being sent all the while.
    expect(lanes.reduce((sum, lane) => sum + lane.campaigns.running, 0)).toBeGreaterThan(0);
  });

  test('says that it reconnects when its server is killed, and then shows every event once', {
    timeout: 180_000,
  }, async () => {
    const { page, expectError } = await on.visit({ key: await on.up.key() });
    expectError(
      /Failed to load resource: net::ERR_(CONNECTION_REFUSED|INCOMPLETE_CHUNKED_ENCODING|SOCKET_NOT_CONNECTED)/,
    );
    await page.getByText('Recent events').click();
    await page.locator('[data-stream=live]').waitFor();
    const shown = (): Promise<string[]> =>
      page
        .locator('[data-event]')
        .evaluateAll((all) => all.map((item) => item.getAttribute('data-event') ?? ''));
    const first = await sendOne('Before');
    await expect.poll(async () => (await shown()).length).toBeGreaterThan(0);
    expect(first).not.toBe('');
    await on.up.kill();
    const killedAt = performance.now();
    await page.locator('[data-stream=reconnecting]').waitFor();
    expect(performance.now() - killedAt).toBeLessThan(2_000);
    await on.up.restart();
    // Before the page is connected again, and after.
    await on.up.send({ name: 'Between', lane: 'main', message: 'Hi', recipients: recipients(1, 7) });
    await page.locator('[data-stream=live]').waitFor();
    const last = await sendOne('After');
    const oldest = (await shown()).at(-1) ?? '';
    const feed = [oldest, ...(await eventsAfter(on.up, oldest, last))];
    const newest = feed.at(-1) ?? '';
    await expect.poll(shown).toContain(newest);
    // The page keeps the newest: a kill with many requests in flight may leave more events than that.
    const all = (await shown()).toReversed();
    const seen = all.slice(0, all.indexOf(newest) + 1);
    expect(seen).toEqual(feed.slice(-seen.length));
  });

  describe('while Redis is unavailable', () => {
    let pid: number | undefined;
    afterEach(() => {
      if (pid !== undefined) process.kill(pid, 'SIGCONT');
    });

    test('dims its data, says how old they are, disables commands, and recovers', async () => {
      const { page, expectError } = await on.visit({ key: await on.up.key(), at: '/lanes/main' });
      expectError(/status of 503/);
      const hold = page.getByRole('button', { name: /^Hold…/ });
      await hold.waitFor();
      const dimmed = page.locator('main.old');
      expect(await dimmed.count()).toBe(0);
      pid = on.up.redisPid;
      process.kill(pid, 'SIGSTOP');
      const lost = page.getByText(/Lost contact with the server · figures are \d+ s old/);
      await lost.waitFor({ timeout: 30_000 });
      // Not before: a person who wants to stop something must not wait for a busy machine.
      expect(Number(/(\d+) s old/.exec(await lost.innerText())?.[1])).toBeGreaterThanOrEqual(4);
      expect(Number(await dimmed.evaluate((main) => getComputedStyle(main).opacity))).toBeLessThan(1);
      expect(await hold.isDisabled()).toBe(true);
      process.kill(pid, 'SIGCONT');
      await page.locator('[data-stream=live]').waitFor({ timeout: 30_000 });
      expect(await dimmed.count()).toBe(0);
      expect(await hold.isEnabled()).toBe(true);
    });
  });
});

/** When the page has drawn that a lane is in this state, in ms since the epoch. */
function shownAt(page: Page, lane: string, state: string): Promise<number> {
  return page.evaluate(
    ([lane, state]) =>
      new Promise<number>((resolve) => {
        const link = [...document.querySelectorAll('table a')].find(
          ({ textContent }) => textContent === lane,
        );
        const row = link?.closest('tr');
        if (!row) throw new Error(`there is no lane ${lane}`);
        const look = (): void => {
          if (row.querySelector('.badge')?.textContent !== state) return;
          observer.disconnect();
          requestAnimationFrame(() => resolve(Date.now()));
        };
        const observer = new MutationObserver(look);
        observer.observe(row, { subtree: true, childList: true, characterData: true });
        look();
      }),
    [lane, state] as const,
  );
}

/** The ids of the events of the feed after one of them, until a campaign is complete. */
async function eventsAfter(up: Up, after: string, campaign: string): Promise<string[]> {
  const controller = new AbortController();
  onTestFinished(() => controller.abort());
  const response = await fetch(`${up.origin}/v1/events`, {
    headers: { authorization: `Bearer ${await up.key()}`, 'last-event-id': after },
    signal: controller.signal,
  });
  const ids: string[] = [];
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk as Uint8Array, { stream: true });
    const events = text.split('\n\n');
    text = events.pop() ?? '';
    for (const event of events) {
      const id = /^id: (.+)$/m.exec(event)?.[1];
      if (id === undefined || !/^data: /m.test(event)) continue;
      ids.push(id);
      if (/^event: campaign\.completed$/m.test(event) && event.includes(campaign)) return ids;
    }
  }
  return ids;
}
