import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { describe, expect, inject, test } from 'vitest';
import { chooseList } from './screens.js';
import { stage } from './stage.js';
import { recipients } from './up.js';

describe.skipIf(inject('chromium') === null)('What a dialog acts on', () => {
  const on = stage({ lanes: [{ name: 'default' }, { name: 'main' }, { name: 'other' }], hasScene: true });
  const titleOf = (page: Page) => page.getByRole('dialog').getByRole('heading');
  const laneOf = (name: string) => on.up.api<{ state: string }>('GET', `/v1/lanes/${name}`);

  test('Find shows nothing about a number once another is in the field, and its dialogs name the number', async () => {
    const { page } = await on.visit({ key: await on.up.key(), at: '/find' });
    const number = page.getByLabel('Number', { exact: true });
    const found = page.getByText('Messages to this number');
    await number.fill('+447700900001');
    await page.getByRole('button', { name: 'Find' }).click();
    await found.waitFor();
    await page.getByRole('button', { name: /^Lift…/ }).click();
    expect(await titleOf(page).textContent()).toBe('Lift: +447700900001 on all accounts');
    await page.keyboard.press('Escape');
    await page.keyboard.press('r');
    await number.fill('+447700900002');
    expect(await found.count()).toBe(0);
    // An answer that arrives when yet another number is in the field is not shown.
    let answer = (): void => {};
    const held = new Promise<void>((resolve) => (answer = resolve));
    await page.route('**/v1/find', async (route) => {
      await held;
      await route.continue();
    });
    const answered = page.waitForResponse('**/v1/find');
    await page.getByRole('button', { name: 'Find' }).click();
    await number.fill('+447700900003');
    answer();
    await answered;
    await page.getByRole('button', { name: 'Find', disabled: false }).waitFor();
    expect(await found.count()).toBe(0);
    await page.getByRole('button', { name: 'Find' }).click();
    await page.getByRole('button', { name: /^Suppress…/ }).click();
    expect(await titleOf(page).textContent()).toBe('Suppress: +447700900003');
    await page.getByRole('dialog').getByRole('button', { name: 'Suppress' }).click();
    await page.getByText('This number is suppressed').waitFor();
    const { suppressions } = await on.up.api<{ suppressions: object[] }>('POST', '/v1/find', {
      number: '+447700900003',
    });
    expect(suppressions).toHaveLength(1);
  });

  test('A dialog does what it asked when it was opened, though the lane has closed meanwhile', async () => {
    const { page } = await on.visit({ key: await on.up.key(), at: '/lanes/main' });
    await page.getByRole('button', { name: /^Hold…/ }).click();
    await on.up.api('POST', '/v1/lanes/main/hold', {});
    await page
      .getByRole('button', { name: 'Resume main…', includeHidden: true })
      .waitFor({ state: 'attached' });
    expect(await titleOf(page).textContent()).toBe('Hold: main');
    await page.getByRole('dialog').getByRole('button', { name: 'Hold' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect((await laneOf('main')).state).toBe('held');
  });

  test('A dialog closes when its reader goes back to another lane', async () => {
    const { page } = await on.visit({ key: await on.up.key(), at: '/lanes' });
    const open = (lane: string) => page.getByRole('link', { name: lane, exact: true }).click();
    await open('default');
    await page.getByRole('button', { name: /^Hold…/ }).waitFor();
    // From lane to lane within the page.
    await page.evaluate(() => {
      const link = document.querySelector<HTMLAnchorElement>('main a, header a');
      if (link === null) throw new Error('there is no link');
      link.href = '/console/lanes/other';
      link.click();
    });
    await page.getByRole('heading', { level: 1, name: 'other' }).waitFor();
    await page.getByRole('button', { name: /^Hold…/ }).click();
    expect(await titleOf(page).textContent()).toBe('Hold: other');
    await page.goBack();
    await page.getByRole('heading', { level: 1, name: 'default' }).waitFor();
    expect(await page.getByRole('dialog').count()).toBe(0);
  });

  test('A resend says that the message may arrive twice, and not that it is safe', async () => {
    const { page } = await on.visit({ key: await on.up.key(), at: `/campaigns/${on.scene.unknown}` });
    const row = page.getByRole('row', { name: /^1 recipient|^\+47/ }).first();
    await row.waitFor();
    expect(await page.locator('#unknown').textContent()).not.toMatch(/safe/i);
    await page
      .locator('#unknown')
      .getByRole('button', { name: /^Send it again…/ })
      .click();
    const dialog = page.getByRole('dialog');
    expect(await dialog.textContent()).toContain(
      'The message to 1 recipient is sent again. People who got it the first time get it twice.',
    );
  });

  test('A test message is sent only as the last check has shown it', async () => {
    const { page } = await on.visit({ key: await on.up.key(), at: '/new' });
    const file = join(on.up.folder, 'test.csv');
    writeFileSync(
      file,
      `phone\n${recipients(3)
        .map(({ to }) => to)
        .join('\n')}\n`,
    );
    await chooseList(page, file);
    await page.getByLabel('Message', { exact: true }).fill('First text');
    // With several accounts, a person chooses one.
    await page.getByText('Choose an account first.').waitFor();
    expect(await page.getByLabel('Account').inputValue()).toBe('');
    await page.getByLabel('Account').selectOption('main');
    const send = (disabled: boolean) =>
      expect
        .poll(() => page.getByRole('button', { name: 'Send a test to this number', disabled }).isVisible())
        .toBe(true);
    await send(false);
    let check = (): void => {};
    const held = new Promise<void>((resolve) => (check = resolve));
    await page.route('**/v1/preview/upload*sentBefore*', async (route) => {
      await held;
      await route.continue();
    });
    await page.getByLabel('Message', { exact: true }).fill('Second text');
    await send(true);
    check();
    await send(false);
  });
});
