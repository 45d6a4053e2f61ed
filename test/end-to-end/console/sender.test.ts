import { describe, expect, inject, test } from 'vitest';
import { stage } from './stage.js';
import { recipients } from './up.js';

const SLOW = { timeout: 180_000 };
/** Of these, the simulator delivers none: one is impossible, and one is rejected. */
const FAILING = [
  { to: '+4795550103', name: 'Kim' },
  { to: '+4795550140', name: 'Lee' },
];

describe.skipIf(inject('chromium') === null)('A person who sends', () => {
  const on = stage({ lanes: [{ name: 'main', hourlyQuota: 40 }] });

  test('sees what came of a campaign, why, and sends again to those who did not get it', SLOW, async () => {
    const id = await on.up.send({
      name: 'Spring sale',
      lane: 'main',
      message: 'Hi {{name}}',
      recipients: [...recipients(3), ...FAILING],
    });
    const visited = await on.visit({ key: await on.up.key() });
    const { page } = visited;
    const ended = page.getByRole('table', { name: 'Ended today' });
    await ended.getByRole('link', { name: 'Spring sale' }).click();
    const result = page.getByRole('region', { name: 'Result', exact: true });
    await result.getByText('Delivered', { exact: true }).waitFor();
    expect(await result.locator('strong').allTextContents()).toEqual(expect.arrayContaining(['3', '0', '2']));
    const why = page.getByRole('table', { name: 'Why not delivered' });
    await expect.poll(() => why.locator('tbody tr').count()).toBe(2);
    const { requested } = visited;
    expect(requested.some((url) => url.includes('/progress'))).toBe(false);
    const recipientRows = page.getByRole('table', { name: 'Recipients' });
    await recipientRows
      .getByRole('row', { name: /Refused The service says: address contains an invalid number/ })
      .waitFor();
    expect(await recipientRows.getByText('"message"').isVisible()).toBe(false);
    expect(await recipientRows.getByText('+4795550103').count()).toBe(0);
    await page
      .getByRole('region', { name: 'Recipients' })
      .getByRole('button', { name: 'Show numbers' })
      .click();
    await recipientRows.getByText('+4795550103').waitFor();
    await page.getByRole('button', { name: 'Hide numbers' }).click();
    const top = () => recipientRows.evaluate((table) => table.getBoundingClientRect().top);
    await page.evaluate(() => scrollTo(0, 0));
    expect(await top()).toBeGreaterThan(await page.evaluate(() => innerHeight));
    await page.locator('.machine').getByRole('button', { name: 'Refused 1' }).click();
    await expect.poll(top).toBeLessThan(await page.evaluate(() => innerHeight));
    await expect.poll(() => recipientRows.locator('tbody tr').count()).toBe(1);
    await page.getByText('What these words mean').click();
    await page.getByText('The service did not accept it.').waitFor();
    await page.getByRole('button', { name: 'Send again to 2 who did not get it…' }).click();
    const asked = await page.getByRole('dialog').innerText();
    expect(asked).toMatch(/It goes to\s+1 not deliverable, 1 refused\s+It does not go to\s+3 delivered\s/);
    await page.getByLabel('Type 2 to confirm').fill('2');
    await page
      .getByRole('dialog')
      .getByRole('button', { name: /^Send again/ })
      .click();
    await page.getByRole('heading', { level: 1, name: 'Spring sale, again' }).waitFor();
    expect(page.url()).not.toContain(id);
  });

  test('sends again what a cancelled campaign has not sent', SLOW, async () => {
    const id = await on.up.send({
      ...{ name: 'Called off', lane: 'main', message: 'Hi {{name}}, was it called off' },
      sendAt: new Date(Date.now() + 86_400_000).toISOString(),
      recipients: recipients(2, 300),
      window: { hours: 'Mon-Sun 08:00-21:00', zone: 'recipient' },
      zoneFrom: 'number',
    });
    const { page } = await on.visit({ key: await on.up.key(), at: `/campaigns/${id}` });
    const dialog = page.getByRole('dialog');
    const stop = page.getByRole('button', { name: /^Stop the campaign…/ });
    const { x, y } = (await stop.boundingBox()) ?? { x: 0, y: 0 };
    await stop.click();
    await dialog.getByRole('heading', { name: 'Stop sending to the remaining 2 for good?' }).waitFor();
    await dialog.getByRole('button', { name: 'Do not stop' }).waitFor();
    await dialog.getByRole('button', { name: 'Stop the campaign' }).click();
    const notices = page.locator('.notices');
    await notices.getByText('Called off is stopped. 2 recipients will get no message.').waitFor();
    await page.getByText('Stopped: 0 got it. Nothing more is sent.').waitFor();
    const again = page.getByRole('button', { name: 'Send again to 2 who did not get it…' });
    await again.waitFor();
    expect(await page.getByText('% done').count()).toBe(0);
    // A second click where the first one was opens nothing.
    await page.mouse.click(x + 5, y + 5);
    expect(await dialog.count()).toBe(0);
    await again.click();
    expect(await dialog.innerText()).toMatch(/It goes to\s+2 stopped\s/);
    expect(await dialog.innerText()).not.toContain('It does not go to');
    await page.getByLabel('Type 2 to confirm').fill('2');
    await dialog.getByRole('button', { name: /^Send again/ }).click();
    await page.getByRole('heading', { level: 1, name: 'Called off, again' }).waitFor();
    await notices.getByText('It is sent again to 2 people.').waitFor();
    const second = await on.up.api('GET', `/v1/campaigns/${page.url().split('/').at(-1)}`);
    expect(second).toMatchObject({ window: { hours: 'Mon-Sun 08:00-21:00', zone: 'recipient' } });
  });

  test('prints the result of a campaign without what is only for the screen', SLOW, async () => {
    const { page } = await on.visit({ key: await on.up.key(), at: '/campaigns' });
    await page.getByRole('link', { name: 'Spring sale', exact: true }).click();
    await page.getByRole('table', { name: 'Why not delivered' }).waitFor();
    const isSeen = () =>
      Promise.all(
        ['.figures', '.machine', '.header', '#list', 'a.button'].map((each) => page.isVisible(each)),
      );
    expect(await isSeen()).toEqual([true, true, true, true, true]);
    await page.evaluate(() => {
      window.print = () => document.body.setAttribute('data-printed', '');
    });
    await page.getByRole('button', { name: 'Print' }).click();
    await page.locator('body[data-printed]').waitFor();
    await page.emulateMedia({ media: 'print' });
    expect(await isSeen()).toEqual([true, true, false, false, false]);
  });

  test('gets to the unknown outcomes with the same button, each time', SLOW, async () => {
    const id = await on.up.send({
      name: 'Unclear sale',
      lane: 'main',
      message: 'Hi {{name}}, was this sent',
      recipients: [{ to: '+4795550131', name: 'Cy' }],
    });
    const viewport = { width: 1000, height: 400 };
    const { page } = await on.visit({ key: await on.up.key(), at: `/campaigns/${id}`, viewport });
    const unknown = page.locator('#unknown');
    const top = () => unknown.evaluate((section) => section.getBoundingClientRect().top);
    for (const _time of [1, 2]) {
      await unknown.waitFor();
      await page.evaluate(() => scrollTo(0, 0));
      expect(await top()).toBeGreaterThan(viewport.height);
      await page.getByRole('link', { name: /^Decide/ }).click();
      await expect.poll(top).toBeLessThan(viewport.height);
    }
    // From the overview, the mouse lands on no button that decides.
    await page.goto(`${on.up.origin}/console/`);
    await page.getByRole('link', { name: 'Decide Unclear sale' }).first().click();
    await expect.poll(top).toBeLessThan(viewport.height);
    expect(await unknown.locator('button:hover').count()).toBe(0);
    // In plain words; what broke off, and where, stands behind details.
    const known = unknown.getByRole('row', { name: 'So it is not known whether it arrived.' });
    expect(await known.innerText()).not.toContain('127.0.0.1');
    const [words, title] = [unknown.getByRole('button', { name: 'Show numbers' }), unknown.locator('h2')];
    const left = (of: typeof title) =>
      of.evaluate((element) => {
        const range = document.createRange();
        range.selectNodeContents(element);
        return range.getBoundingClientRect().left;
      });
    expect(Math.abs((await left(words)) - (await left(title)))).toBeLessThan(3);
    await unknown.getByRole('button', { name: /^They did not get it…/ }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('heading', { name: 'They did not get it: +4795•••131' }).waitFor();
    await dialog.getByRole('button', { name: 'They did not get it' }).click();
    await page
      .locator('.notices')
      .getByText('Unclear sale: 1 request with 1 recipient counted as not sent.')
      .waitFor();
    await page.getByRole('button', { name: 'Send again to 1 who did not get it…' }).click();
    await dialog.getByText('1 person was counted as not sent without proof, and may get it twice.').waitFor();
  });

  test('reads that the limit is used up, and what starts soon, and no account is named', SLOW, async () => {
    const start = new Date(Date.now() + 2 * 86_400_000).toISOString();
    const common = { lane: 'main', message: 'Hi {{name}}, come' };
    await on.up.send({ ...common, name: 'Summer sale', sendAt: start, recipients: recipients(7) });
    await on.up.send({ ...common, name: 'Autumn sale', recipients: recipients(90, 100) });
    const { page } = await on.visit({ key: await on.up.key(), viewport: { width: 360, height: 740 } });
    // After 23:00, that is tomorrow.
    await page
      .getByText(/The hourly limit of 40 is used up; continues (at|\d{1,2} \w{3}) \d\d:\d\d/)
      .waitFor();
    await page.getByRole('table', { name: 'Scheduled this week' }).getByText('any time').waitFor();
    await page.getByRole('button', { name: 'Stop the campaign… Autumn sale' }).waitFor();
    await page.getByText(/^All sent by .*; last results by /).waitFor();
    const main = page.locator('main');
    expect(await main.innerText()).not.toMatch(/\bmain\b|\blane|account/i);
    // What can be done about it is said where a person looks for it.
    expect(await main.getByText('ask the service for a higher limit').count()).toBe(0);
    await page.getByRole('link', { name: 'Autumn sale', exact: true }).first().click();
    await page.getByText('To send faster, ask the service for a higher limit.').waitFor();
    const arrows = await page
      .locator('.machine > li')
      .evaluateAll((steps) => steps.map((step) => getComputedStyle(step, '::before').content));
    expect(arrows).toEqual(['none', '"↓"', '"↓"', '"↓"']);
    await page.goBack();
    // On a narrow page, the other pages are a menu, which closes when one of them is chosen.
    const link = page.getByRole('link', { name: 'Campaigns', exact: true });
    expect(await link.isVisible()).toBe(false);
    await page.getByRole('button', { name: 'Menu' }).click();
    await link.click();
    await page.getByRole('heading', { level: 1, name: 'Campaigns' }).waitFor();
    await expect.poll(() => link.isVisible()).toBe(false);
    await page.getByRole('table', { name: 'Campaigns' }).getByText('Autumn sale').waitFor();
    expect(await main.innerText()).not.toMatch(/\bmain\b|\blane|account/i);
  });

  test('chooses a time in a zone that has the name of today', SLOW, async () => {
    const { page } = await on.visit({
      key: await on.up.key(),
      at: '/new',
      timezoneId: 'Asia/Calcutta',
    });
    await page.getByLabel('Later').check();
    const zone = page.getByLabel('Time zone');
    await expect.poll(() => zone.inputValue()).toBe('Asia/Kolkata');
    const offered = await zone.locator('option').allTextContents();
    expect(offered).toEqual(expect.arrayContaining(['Kolkata (Asia)', 'Kyiv (Europe)', 'UTC']));
    expect(offered).not.toEqual(expect.arrayContaining(['Kiev (Europe)']));
    await zone.selectOption('New York (America)');
    await page.getByLabel('Date and time').fill('2035-01-15T09:00');
    await page.getByText('= 15 Jan 2035 19:30 your time').waitFor();
  });

  test('sees nothing move while the overview loads', SLOW, async () => {
    const { page } = await on.visit({ key: await on.up.key() });
    await page.addInitScript(() => {
      new PerformanceObserver((list) => {
        const moved = list
          .getEntries()
          .reduce((sum, entry) => sum + (entry as unknown as { value: number }).value, 0);
        document.documentElement.dataset['moved'] = String(
          Number(document.documentElement.dataset['moved'] ?? 0) + moved,
        );
      }).observe({ type: 'layout-shift', buffered: true });
    });
    await page.reload();
    await page.getByRole('table', { name: 'Ended today' }).getByRole('link').first().waitFor();
    await page.locator('[data-stream=live]').waitFor();
    expect(Number((await page.locator('html').getAttribute('data-moved')) ?? 0)).toBeLessThan(0.02);
  });
});

describe.skipIf(inject('chromium') === null)('When the service refuses the account', () => {
  const on = stage({ lanes: [{ name: 'main' }] });

  test(
    'the overview says so once, in plain words, with what the service wrote behind details',
    SLOW,
    async () => {
      for (const name of ['Spring sale', 'Summer sale'])
        await on.up.send({
          name,
          lane: 'main',
          message: `Hi {{name}}, ${name}`,
          recipients: [{ to: '+4795550143', name: 'Kim' }],
        });
      const { page } = await on.visit({ key: await on.up.key() });
      const said = page.getByText(/^Sending is stopped: the service answered 403/);
      await said.waitFor();
      await expect.poll(() => page.getByText('Waits for what needs attention above.').count()).toBe(2);
      expect(await said.count()).toBe(1);
      const details = page.getByText('"message"');
      expect(await details.isVisible()).toBe(false);
      await page.getByText('Details', { exact: true }).click();
      expect(await details.isVisible()).toBe(true);
      await page.getByRole('button', { name: 'Resume main…' }).waitFor();
    },
  );
});
