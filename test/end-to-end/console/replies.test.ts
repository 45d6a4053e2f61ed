import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { describe, expect, inject, test } from 'vitest';
import { reply, until } from './screens.js';
import { stage } from './stage.js';
import { recipients } from './up.js';

const SLOW = { timeout: 180_000 };
/** More than one page has. */
const MANY = 103;

describe.skipIf(inject('chromium') === null)('A person who reads replies', () => {
  const on = stage({ lanes: [{ name: 'main' }] });
  const rows = (page: Page) => page.getByRole('table', { name: 'Replies' }).locator('tbody tr');
  const send = async (name: string, from: number): Promise<string> => {
    const id = await on.up.send({
      ...{ name, lane: 'main', message: `Hi {{name}}, ${name}` },
      recipients: recipients(3, from),
    });
    await until(async () => {
      const { counts } = await on.up.api<{ counts: Record<string, number> }>('GET', `/v1/campaigns/${id}`);
      return counts['deliveredToTerminal'] === 3;
    });
    return id;
  };
  const answer = (number: number, text: string) =>
    reply(on.up, { lane: 'main', from: recipients(1, number)[0]?.to ?? '', text });

  test('sees who answered what, to which campaign, and who wants no more messages', SLOW, async () => {
    const sale = await send('Spring sale', 0);
    await send('Opening hours', 100);
    await answer(0, 'Is it <b>today</b>?');
    await answer(100, 'Thanks');
    await answer(1, 'stop');
    const { page } = await on.visit({ key: await on.up.key(), at: `/campaigns/${sale}` });
    await page.getByRole('link', { name: '2 replies' }).click();
    await page.getByRole('heading', { level: 1, name: 'Replies' }).waitFor();
    const current = page.locator('nav [aria-current=page]');
    expect(await current.allTextContents()).toEqual(['Replies']);
    const campaign = page.getByLabel('Campaign');
    await expect.poll(() => campaign.locator('option:checked').textContent()).toBe('Spring sale');
    await expect.poll(() => rows(page).count()).toBe(2);
    expect(await rows(page).nth(0).textContent()).toMatch(
      /\+4477•••••001stopStopped: receives no more messages.*Spring sale$/,
    );
    expect(await rows(page).nth(1).textContent()).toMatch(/•••000Is it <b>today<\/b>\?Spring sale$/);
    // All of them, newest first.
    await campaign.selectOption('All');
    await expect.poll(() => rows(page).count()).toBe(3);
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Save as CSV' }).click(),
    ]);
    expect(download.suggestedFilename()).toBe('Replies.csv');
    const saved = readFileSync(await download.path(), 'utf8').split('\r\n');
    expect(saved).toHaveLength(5);
    expect(saved[0]).toBe('\ufeffReceived,From,Reply,Campaign,Change,Account');
    expect(saved[1]).toMatch(
      /,"=""\+447700900001""",stop,Spring sale,Stopped: receives no more messages,main$/,
    );
    expect(saved[2]).toContain(',Thanks,Opening hours,,main');
    expect(await rows(page).nth(1).textContent()).toContain('Opening hours');
    await page.getByLabel('Number', { exact: true }).fill('+44 7700 900000');
    await page.keyboard.press('Enter');
    await expect.poll(() => rows(page).count()).toBe(1);
    expect(page.url()).not.toContain('900000');
    expect(await page.locator('main').innerText()).not.toMatch(/\bmain\b|\blane|account/i);
    await page.getByRole('link', { name: 'Spring sale' }).click();
    await page.getByRole('heading', { level: 1, name: 'Spring sale' }).waitFor();
    await page.getByRole('link', { name: 'Overview', exact: true }).click();
    await expect.poll(() => current.allTextContents()).toEqual(['Overview']);
  });

  test('finds what one number has answered', SLOW, async () => {
    const { page } = await on.visit({ key: await on.up.key(), at: '/find' });
    await page.getByLabel('Number', { exact: true }).fill('+447700900001');
    await page.getByRole('button', { name: 'Find' }).click();
    const found = page.getByRole('table', { name: 'Replies from this number' });
    await found.getByText('Stopped: receives no more messages').waitFor();
    // And what it got, in the words that it got.
    await page.getByRole('cell', { name: 'Hi Ada 1, Spring sale', exact: true }).waitFor();
    expect(await found.locator('tbody tr').count()).toBe(1);
  });

  test('reads them in pages, and sees a new one arrive', SLOW, async () => {
    for (let at = 0; at < MANY; at += 1) await answer(100, `Number ${at}`);
    const { page } = await on.visit({ key: await on.up.key(), at: '/replies' });
    await expect.poll(() => rows(page).count()).toBe(100);
    expect(await rows(page).first().textContent()).toContain(`Number ${MANY - 1}`);
    await page.getByRole('button', { name: 'Next' }).click();
    await expect.poll(() => rows(page).count()).toBe(MANY + 3 - 100);
    expect(await rows(page).last().textContent()).toContain('Is it');
    await page.getByRole('button', { name: 'First page' }).click();
    await page.locator('[data-stream=live]').waitFor();
    await answer(2, 'Just now');
    await expect.poll(() => rows(page).first().textContent()).toContain('Just now');
  });

  test('sees on a phone that someone has stopped, in one piece', SLOW, async () => {
    const { page } = await on.visit({
      key: await on.up.key(),
      at: '/replies',
      viewport: { width: 360, height: 740 },
    });
    await page.getByLabel('Number', { exact: true }).fill('+447700900001');
    await page.keyboard.press('Enter');
    const badge = page.locator('.badge.bad');
    await badge.waitFor();
    expect(await badge.evaluate((each) => each.getClientRects().length)).toBe(1);
  });

  test('sees nothing move while they load, and nothing to scroll sideways on a phone', SLOW, async () => {
    const { page } = await on.visit({ key: await on.up.key(), viewport: { width: 360, height: 740 } });
    await page.addInitScript(() => {
      new PerformanceObserver((list) => {
        const { dataset } = document.documentElement;
        for (const entry of list.getEntries())
          dataset['moved'] = String(
            Number(dataset['moved'] ?? 0) + (entry as unknown as { value: number }).value,
          );
      }).observe({ type: 'layout-shift', buffered: true });
    });
    await page.goto(`${on.up.origin}/console/replies`);
    await expect.poll(() => rows(page).count()).toBe(100);
    await page.locator('[data-stream=live]').waitFor();
    const root = page.locator('html');
    expect(Number((await root.getAttribute('data-moved')) ?? 0)).toBeLessThan(0.02);
    expect(await root.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)).toBe(0);
  });
});
