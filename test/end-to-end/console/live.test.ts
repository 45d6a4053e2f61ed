import { describe, expect, inject, onTestFinished, test } from 'vitest';
import { startBrowser, visit } from './browser.js';
import { until } from './screens.js';
import { stage } from './stage.js';
import { recipients } from './up.js';

/** With every connection held by pages that were left, it took half a minute. */
const LOADED_MS = 20_000;

describe.skipIf(inject('chromium') === null)('A page that stays open', () => {
  const on = stage({ lanes: [{ name: 'main', hourlyQuota: 100_000 }] });

  test('The strip of a lane adds up to what counts against its quota', async () => {
    const id = await on.up.send({ name: 'Strip', lane: 'main', message: 'Hi', recipients: recipients(1) });
    await until(async () => {
      const { state } = await on.up.api<{ state: string }>('GET', `/v1/campaigns/${id}`);
      return state === 'completed';
    });
    const { page } = await on.visit({ key: await on.up.key(), at: '/lanes/main' });
    await page.locator('svg.drawing').waitFor();
    await page.getByText('As a table').click();
    const { quota } = await on.up.api<{ quota: { used: { send: number; poll: number } } }>(
      'GET',
      '/v1/lanes/main',
    );
    const { send, poll } = quota.used;
    expect(send).toBeGreaterThan(0);
    expect(poll).toBeGreaterThan(0);
    const sums = (): Promise<number[]> =>
      page
        .getByRole('table', { name: 'The window in twelve parts' })
        .evaluate((table) =>
          ['sends', 'for reports'].map((column) =>
            [...table.querySelectorAll(`tbody td[data-title="${column}"]`)].reduce(
              (sum, cell) => sum + Number(cell.textContent?.replace(/\D/g, '')),
              0,
            ),
          ),
        );
    await expect.poll(sums).toEqual([send, poll]);
    await page.getByText(`${send + poll} of 100,000 requests count now`).waitFor();
    const { buckets } = await on.up.api<{ buckets: { sends: number; polls: number }[] }>(
      'GET',
      '/v1/lanes/main/ledger',
    );
    expect(buckets.reduce((sum, bucket) => sum + bucket.sends + bucket.polls, 0)).toBe(send + poll);
  });

  test('A page that its tab has left holds no stream, is live again on the way back, and asks who is signed in', {
    timeout: 120_000,
  }, async () => {
    const keeping = await startBrowser({ keepsPages: true });
    onTestFinished(() => keeping.close());
    const { page, context, expectError } = await visit(keeping, on.up, { key: await on.up.key() });
    expectError(/status of 401/);
    const live = page.locator('[data-stream=live]');
    await live.waitFor();
    const times: number[] = [];
    // One more than the connections of a browser to a host.
    for (const at of ['lanes', 'campaigns', 'find', 'new', 'outboxes', 'schedules', 'lanes']) {
      const startedAt = performance.now();
      await page.goto(`${on.up.origin}/console/${at}`, { waitUntil: 'commit' });
      await live.waitFor();
      times.push(performance.now() - startedAt);
    }
    expect(Math.max(...times)).toBeLessThan(LOADED_MS);
    await page.evaluate(() => (document.title = 'kept'));
    const leaveAndReturn = async (): Promise<void> => {
      await page.goto(`${on.up.origin}/console/find`, { waitUntil: 'commit' });
      await live.waitFor();
      await page.goBack({ waitUntil: 'commit' });
      // It is the page of before, and not another one from its address.
      expect(await page.title()).toBe('kept');
    };
    await leaveAndReturn();
    await live.waitFor();
    const paused = page.getByRole('button', { name: 'Pause updates' });
    await paused.click();
    await leaveAndReturn();
    await page.goForward({ waitUntil: 'commit' });
    await context.clearCookies();
    await page.goBack({ waitUntil: 'commit' });
    await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
  });
});
