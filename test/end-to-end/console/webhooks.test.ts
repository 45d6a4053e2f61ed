import { describe, expect, inject, test } from 'vitest';
import type { FailedDelivery, Webhook } from '../../../src/campaign/views/webhook-views.js';
import { stage } from './stage.js';

const HOUR_MS = 3_600_000;
const ago = (hours: number): string => new Date(Date.now() - hours * HOUR_MS).toISOString();

const SHOP: Webhook = {
  id: 'w1',
  url: 'https://shop.example/volley',
  lanes: null,
  events: ['recipients.settled', 'inbound.received'],
  outboxes: null,
  tags: ['spring'],
  key: null,
  state: 'enabled',
  disabledBecause: null,
  createdAt: ago(48),
  createdBy: { kind: 'cli', id: null, name: 'root' },
  oldSecretUntil: null,
  deliveredCount: 1_204,
  resultCount: 3_000,
  waitingCount: 1,
  failedCount: 2,
  removedCount: 0,
  lastDeliveredAt: ago(0),
  failingSince: null,
  lastError: null,
};
const BOOKS: Webhook = {
  ...SHOP,
  ...{ id: 'w2', url: 'https://books.example/hooks', events: null, tags: null, failedCount: 0 },
  ...{ state: 'disabled', disabledBecause: 'failing', waitingCount: 0 },
  ...{ failingSince: ago(130), lastError: 'the endpoint answered 503' },
};
const failedOf = (id: string, more: Partial<FailedDelivery>): FailedDelivery => ({
  ...{ id, type: 'recipients.settled', lane: 'main', resultCount: 12, createdAt: ago(2), failedAt: ago(1) },
  ...{ attemptCount: 3, reason: 'the endpoint answered 422' },
  ...more,
});
const FAILED = [failedOf('e1', {}), failedOf('e2', { type: 'inbound.received', resultCount: 0 })];

describe.skipIf(inject('chromium') === null)('A person whose programs get webhooks', () => {
  const on = stage({ lanes: [{ name: 'main' }] });

  test('reads that there are none, and how to add one', async () => {
    const { page } = await on.visit({ key: await on.up.key(), viewport: { width: 1_280, height: 900 } });
    await page.getByRole('link', { name: 'Webhooks', exact: true }).click();
    const text = page.getByText('There are no webhooks. To add one: volley webhook add');
    await text.waitFor();
    expect(await text.count()).toBe(1);
  });

  // A refusal takes minutes until Volley gives up, so the answers of the server are those of such an endpoint.
  test.each([
    ['on a wide page', 1_280],
    ['on a phone', 360],
  ])('sees what each receives and refuses, and sends that again: %s', async (_name, width) => {
    const { page } = await on.visit({ key: await on.up.key(), viewport: { width, height: 740 } });
    let failed = FAILED;
    const replayed: unknown[] = [];
    await page.route('**/v1/webhooks', (route) =>
      route.fulfill({ json: { webhooks: [{ ...SHOP, failedCount: failed.length }, BOOKS] } }),
    );
    await page.route('**/v1/webhooks/w1/failed*', (route) =>
      route.fulfill({ json: { failed, nextCursor: null } }),
    );
    await page.route('**/v1/webhooks/*/replay', (route) => {
      replayed.push(route.request().url().split('/').at(-2));
      failed = [];
      return route.fulfill({ json: { id: 'w1', replayedCount: 2 } });
    });
    await page.goto(`${on.up.origin}/console/webhooks`);
    const shop = page.getByRole('region', { name: SHOP.url });
    const text = await shop.innerText();
    for (const part of ['Enabled', 'Results of recipients, replies', 'spring', '1,204 events', '1 event'])
      expect(text).toContain(part);
    expect(text).toContain('2 events were refused three times');
    const refused = shop.getByRole('table', { name: 'Refused events' }).locator('tbody tr');
    await expect.poll(() => refused.count()).toBe(2);
    const first = await refused.nth(0).innerText();
    for (const part of ['Results of recipients (12 recipients)', 'The endpoint answered 422', '3 attempts'])
      expect(first).toContain(part);
    expect(await refused.nth(1).innerText()).toMatch(/Replies(?! \()/);
    const books = page.getByRole('region', { name: BOOKS.url });
    expect(await books.innerText()).toMatch(
      /Disabled[\s\S]*Every request has failed for five days[\s\S]*Everything/,
    );
    expect(await books.getByRole('button', { name: 'Send again' }).count()).toBe(0);
    const root = page.locator('html');
    expect(await root.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)).toBe(0);
    expect(await page.locator('main').innerText()).not.toMatch(/\blane|account|settled/i);
    // It asks first.
    await shop.getByRole('button', { name: /^Send again…/ }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('2 refused events are sent again').waitFor();
    expect(replayed).toEqual([]);
    await dialog.getByRole('button', { name: 'Send again' }).click();
    await page.getByText('2 events will be sent again.').first().waitFor();
    expect(replayed).toEqual(['w1']);
    await shop.getByText('No event has been refused for good.').waitFor();
  });
});
