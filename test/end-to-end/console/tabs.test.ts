import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BrowserContext, Page } from 'playwright-core';
import { describe, expect, inject, test } from 'vitest';
import { chooseList, until } from './screens.js';
import { stage } from './stage.js';
import { recipients, type Up } from './up.js';

const TABS = 8;
const LANES = 200;
const CAMPAIGNS = 1_000;
const RATE_MS = 15_000;
/** What the send rate may lose while eight tabs watch, on a machine that also runs the browser. */
const KEPT = 0.9;
/** From the choice of a tab to the first hundred of its campaigns. */
const USABLE_MS = 5_000;

/** Hides a tab or shows it again, as the browser would: a browser without windows has no hidden tabs. */
const setVisible = (page: Page, state: 'visible' | 'hidden'): Promise<void> =>
  page.evaluate((value) => {
    Object.defineProperty(document, 'visibilityState', { configurable: true, value });
    document.dispatchEvent(new Event('visibilitychange'));
  }, state);

describe.skipIf(!inject('isNightly'))('Several tabs', () => {
  const on = stage({
    lanes: Array.from({ length: LANES }, (_, at) => ({ name: `lane-${at}`, hourlyQuota: 1_000_000 })),
  });

  test('Two tabs send the same list: it becomes one campaign, and the later tab says so', async () => {
    const key = await on.up.key();
    const first = await on.visit({ key, at: '/new' });
    const second = await first.context.newPage();
    await second.goto(`${on.up.origin}/console/new`);
    first.expectError(/status of 409/);
    const file = join(on.up.folder, 'two.csv');
    writeFileSync(
      file,
      `phone\n${recipients(20)
        .map(({ to }) => to)
        .join('\n')}\n`,
    );
    for (const page of [first.page, second]) {
      await chooseList(page, file);
      await page.getByLabel('Message', { exact: true }).fill('Hi from two tabs');
      await page.getByLabel('Account').selectOption('lane-0');
      await page.getByLabel('Type 20 to confirm').fill('20');
    }
    for (const page of [first.page, second])
      await page.getByRole('button', { name: 'Send 20 messages' }).click();
    // Either tab may be the later one.
    const isCreated = async (page: Page): Promise<boolean> => {
      const created = page.getByText('The campaign is created: 20 recipients.');
      await created
        .or(page.getByText(/has the same list, text, and sender\b.* Nothing was sent\./i))
        .waitFor();
      return created.isVisible();
    };
    expect([await isCreated(first.page), await isCreated(second)].sort()).toEqual([false, true]);
    const { campaigns } = await on.up.api<{ campaigns: { message: string }[] }>('GET', '/v1/campaigns');
    expect(campaigns.filter(({ message }) => message === 'Hi from two tabs')).toHaveLength(1);
  });

  test('One tab pauses a campaign, and the other says so and offers to resume it', async () => {
    const sendAt = new Date(Date.now() + 86_400_000).toISOString();
    const id = await on.up.send({
      name: 'Watched',
      message: 'Hi',
      lane: 'lane-0',
      recipients: recipients(3),
      sendAt,
    });
    const at = `/campaigns/${id}`;
    const { page, context } = await on.visit({ key: await on.up.key(), at });
    const other = await context.newPage();
    await other.goto(`${on.up.origin}/console${at}`);
    await other.getByRole('button', { name: 'Pause Watched' }).waitFor();
    await page.getByRole('button', { name: 'Pause Watched' }).click();
    await other
      .locator('.notices')
      .getByText(/^Watched: campaign paused/)
      .waitFor();
    const resume = other.getByRole('button', { name: 'Resume Watched' });
    await expect.poll(() => resume.isVisible()).toBe(true);
  });

  test('Eight tabs on 200 lanes and 1,000 campaigns stay usable, hidden ones hold no stream, and sending keeps its rate', {
    timeout: 400_000,
  }, async () => {
    await fill(on.up);
    // The rate depends on the service, as everywhere else: alone, sending at full speed would leave the machine to nothing.
    await on.up.simulate({ latency: 400 });
    const big = await on.up.send({
      name: 'Big',
      message: 'Hi {{name}}',
      lane: 'lane-1',
      recipients: recipients(90_000),
    });
    const alone = await rate(on.up, big);
    const { page, context } = await on.visit({ key: await on.up.key() });
    const streams = countStreams(context);
    const tabs = [page];
    for (let at = 1; at < TABS; at++) {
      const tab = await context.newPage();
      await tab.goto(`${on.up.origin}/console/`);
      await tab.getByText(`All ${LANES} accounts`).waitFor({ timeout: 30_000 });
      const before = tabs.at(-1);
      if (before) await setVisible(before, 'hidden');
      tabs.push(tab);
    }
    await expect.poll(streams.open, { timeout: 5_000 }).toBe(1);
    const watched = await rate(on.up, big);
    console.error(`Sends per second: ${alone.toFixed(0)} alone, ${watched.toFixed(0)} with ${TABS} tabs.`);
    expect(watched / alone).toBeGreaterThan(KEPT);
    const last = tabs.at(-1);
    if (last) await setVisible(last, 'hidden');
    await expect.poll(streams.open, { timeout: 1_500 }).toBe(0);
    const times: number[] = [];
    for (const tab of tabs) {
      const startedAt = performance.now();
      await setVisible(tab, 'visible');
      await tab.locator('[data-stream=live]').waitFor();
      await tab.getByRole('link', { name: 'Campaigns', exact: true }).click();
      await tab.getByRole('heading', { level: 1, name: 'Campaigns' }).waitFor();
      await tab.getByRole('row').nth(100).waitFor();
      times.push(performance.now() - startedAt);
      await setVisible(tab, 'hidden');
    }
    console.error(`Tabs: ${times.map((ms) => ms.toFixed(0)).join(', ')} ms.`);
    expect(Math.max(...times)).toBeLessThan(USABLE_MS);
  });
});

/** Creates campaigns that wait for a later time. */
async function fill(up: Up): Promise<void> {
  const sendAt = new Date(Date.now() + 86_400_000).toISOString();
  for (let from = 0; from < CAMPAIGNS; from += 50)
    await Promise.all(
      Array.from({ length: 50 }, (_, at) =>
        up.send({
          name: `Campaign ${from + at}`,
          message: `Hi {{name}} of ${from + at}`,
          lane: `lane-${(from + at) % LANES}`,
          recipients: recipients(1, from + at),
          sendAt,
        }),
      ),
    );
}

/** Sends per second of a campaign, over a while. */
async function rate(up: Up, id: string): Promise<number> {
  const sent = async (): Promise<number> => {
    const { counts } = await up.api<{ counts: Record<string, number> }>('GET', `/v1/campaigns/${id}`);
    return (counts['total'] ?? 0) - (counts['planned'] ?? 0);
  };
  await until(async () => (await sent()) > 0);
  const [before, startedAt] = [await sent(), performance.now()];
  await new Promise((resolve) => setTimeout(resolve, RATE_MS));
  return ((await sent()) - before) / ((performance.now() - startedAt) / 1_000);
}

/** How many streams the tabs of a context hold open. */
function countStreams(context: BrowserContext): { open(): number } {
  const open = new Set<object>();
  const isStream = (url: string): boolean => url.includes('/v1/live');
  context.on('request', (request) => void (isStream(request.url()) && open.add(request)));
  for (const event of ['requestfinished', 'requestfailed'] as const)
    context.on(event as 'requestfinished', (request) => void open.delete(request));
  return { open: () => open.size };
}
