import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { describe, expect, onTestFinished, test } from 'vitest';
import { startBrowser, visit } from './browser.js';
import { chooseList, MESSY, until } from './screens.js';
import { recipients, startUp } from './up.js';

/*
 * Takes the pictures of the documentation: npm run screenshots.
 */

const IMAGES = fileURLToPath(new URL('../../../docs/images/', import.meta.url));
const WIDTH = 1_280;
/** So long that the strip of a lane has a history. */
const HISTORY_MS = 30_000;

describe.skipIf(process.env['CONSOLE_SCREENSHOTS'] !== 'write')('The pictures of the documentation', () => {
  test('show the screens while campaigns are sent', { timeout: 300_000 }, async () => {
    const lanes = [
      { name: 'main', hourlyQuota: 400 },
      { name: 'reminders', hourlyQuota: 1_000 },
      { name: 'service', hourlyQuota: 1_000 },
    ];
    const up = await startUp(lanes, {
      QUOTA_WINDOW_MS: '60000',
      REQUEST_TIMEOUT_MS: '5000',
      MAX_RECIPIENTS_PER_REQUEST: '2',
      FOLLOW_UP_FIRST_MS: '4000',
    });
    onTestFinished(() => up.stop());
    const browser = await startBrowser();
    onTestFinished(() => browser.close());
    await up.simulate({ latency: { kind: 'uniform', minMs: 100, maxMs: 400 } });

    const message = 'Hi {{name}}, 20% off until Sunday with the code SPRING.';
    await up.send({
      name: 'Opening hours',
      lane: 'service',
      message: 'Hi {{name}}, we open at 8.',
      recipients: recipients(40),
    });
    const paused = await up.send({
      name: 'Loyalty card',
      lane: 'service',
      message,
      recipients: recipients(900, 100),
    });
    const endings = ['03', '31', '32', '40'].map((ending) => ({ to: `+47955501${ending}`, name: 'Kim' }));
    const sale = await up.send({
      name: 'Spring sale',
      lane: 'main',
      message,
      recipients: [...recipients(600, 2_000), ...endings, ...recipients(1_600, 3_000)],
    });
    await up.api('POST', `/v1/campaigns/${paused}/pause`, {});
    await up.send({
      name: 'Appointments',
      lane: 'reminders',
      message,
      recipients: [{ to: '+4795550143', name: 'Kim' }],
    });
    await up.send({
      name: 'Summer party',
      lane: 'main',
      message: 'Hi {{name}}, the party is on Saturday at 8.',
      sendAt: new Date(Date.now() + 2 * 86_400_000).toISOString(),
      window: { hours: 'Mon-Sat 09:00-20:00' },
      zone: 'Europe/Oslo',
      recipients: recipients(2_500),
    });
    const begun = performance.now();
    await until(async () => {
      const { counts } = await up.api<{ counts: Record<string, number> }>('GET', `/v1/campaigns/${sale}`);
      return (counts['unknown'] ?? 0) > 0 && performance.now() - begun > HISTORY_MS;
    }, 200_000);

    const key = await up.key(undefined, [], 'on-call');
    const { page } = await visit(browser, up, { key, viewport: { width: WIDTH, height: 960 } });
    const take = async (name: string, at: string, ready: (page: Page) => Promise<void>): Promise<void> => {
      await page.goto(`${up.origin}/console${at}`);
      await ready(page);
      const path = join(IMAGES, `console-${name}.png`);
      expect((await page.screenshot({ path, animations: 'disabled' })).length).toBeGreaterThan(10_000);
    };
    await take('overview', '/', (page) => page.getByRole('link', { name: 'Spring sale' }).first().waitFor());
    await take('campaign', `/campaigns/${sale}`, (page) =>
      page.locator('#unknown code', { hasText: '••' }).first().waitFor(),
    );
    await take('lane', '/lanes/main', (page) => page.locator('svg.drawing').waitFor());
    await take('new', '/new', async (page) => {
      await chooseList(page, MESSY);
      await page.getByLabel('Account').selectOption('main');
      await page.getByLabel('Country of national numbers').selectOption('GB');
      await page.getByLabel('Message', { exact: true }).fill('Hi {{name}}, it’s here: 20% off in {{city}}.');
      await page.getByText('Audience').waitFor();
    });
  });
});
