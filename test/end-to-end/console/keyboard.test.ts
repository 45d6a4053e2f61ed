import type { Locator, Page } from 'playwright-core';
import { beforeAll, describe, expect, inject, test } from 'vitest';
import { MESSY } from './screens.js';
import { stage } from './stage.js';

/** Presses Tab until the element has the focus. */
async function tabTo(page: Page, target: Locator): Promise<void> {
  await target.waitFor({ state: 'attached' });
  for (let presses = 0; presses < 150; presses++) {
    if (await target.evaluate((element) => element === document.activeElement)) return;
    await page.keyboard.press('Tab');
  }
  throw new Error(`Tab does not reach ${target}`);
}

describe.skipIf(inject('chromium') === null)('Without a mouse', () => {
  const on = stage({ hasScene: true });
  beforeAll(async () => {
    // A campaign that waits can be paused.
    await on.up.api('POST', '/v1/lanes/default/hold', {});
  });

  test('a person signs in, uploads a list, sends it, pauses it, and settles an unknown outcome', async () => {
    const { page, expectError } = await on.visit();
    // A person who types slowly sees a preview of a placeholder without its end.
    expectError(/status of 400 .*\/v1\/preview\/upload/);
    const { keyboard } = page;
    const notices = page.locator('.notices');
    const button = (name: string | RegExp): Locator => page.getByRole('button', { name }).first();
    const enter = async (target: Locator): Promise<void> => {
      await tabTo(page, target);
      await keyboard.press('Enter');
    };
    const fill = async (label: string, text: string): Promise<void> => {
      await tabTo(page, page.getByLabel(label, { exact: true }));
      await keyboard.type(text);
    };

    await fill('API key', await on.up.key());
    await keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();

    await keyboard.press('n');
    const chooser = page.waitForEvent('filechooser');
    await tabTo(page, page.locator('input[type=file]'));
    await keyboard.press('Enter');
    await (await chooser).setFiles(MESSY);
    await fill('Country of national numbers', 'United Kingdom');
    await fill('Message', 'Hi {{name}}');
    const skip = page.getByLabel('Leave out invalid rows, and send to the others');
    await tabTo(page, skip);
    await keyboard.press('Space');
    const typed = page.getByLabel(/^Type \d+ to confirm$/);
    await tabTo(page, typed);
    await keyboard.type(/\d+/.exec(await labelOf(typed))?.[0] ?? '');
    // The list is checked again without its invalid rows.
    await expect.poll(() => button(/^Send \d/).isEnabled()).toBe(true);
    await keyboard.press('Enter');

    const open = page.getByRole('link', { name: 'Open that campaign' });
    await open.waitFor();
    await expect.poll(() => open.evaluate((link) => link === document.activeElement)).toBe(true);
    await keyboard.press('Enter');
    await enter(button(/^Pause (?!updates)/));
    await notices.getByText(/^messy is paused\./).waitFor();

    await keyboard.press('g');
    await keyboard.press('o');
    // While the campaign waits for nothing else, it has a second one in the list of those that run.
    await enter(page.getByRole('link', { name: /^Decide ?Spring sale$/ }).first());
    await enter(button(/^They got it…/));
    const dialog = page.getByRole('dialog');
    await dialog.waitFor();
    await enter(dialog.getByRole('button', { name: 'They got it' }));
    await notices.getByText(/^Spring sale: 1 request with 1 recipient /).waitFor();
    const { counts } = await on.up.api<{ counts: object }>('GET', `/v1/campaigns/${on.scene.unknown}`);
    expect(counts).toMatchObject({ unknown: 0 });
  });
});

const labelOf = (input: Locator): Promise<string> =>
  input.evaluate((element) => (element as HTMLInputElement).labels?.[0]?.textContent ?? '');
