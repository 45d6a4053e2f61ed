import type { Page } from 'playwright-core';
import { describe, expect, inject, test } from 'vitest';
import { screensOf } from './screens.js';
import { stage } from './stage.js';

/** Elements that Tab reaches on each screen, at most. */
const STOPS = 60;
/** Those of the header, and one. */
const LEAST_STOPS = 12;
const LISTEN_MS = 35_000;
const EVERY_MS = 10_000;

describe.skipIf(!inject('isNightly'))('For people who use the keyboard or listen', () => {
  const on = stage({ hasScene: true });

  test('the focus can be seen wherever it is', { timeout: 240_000 }, async () => {
    const { page } = await on.visit({ key: await on.up.key() });
    const unseen: string[] = [];
    for (const { name, at, show } of screensOf(on.scene, 'default')) {
      await page.goto(`${on.up.origin}/console${at}`);
      await show?.(page);
      // A browser shows no ring around what a script focuses after a click, so a key is pressed first.
      await page.keyboard.press('Shift');
      // The first element of every screen, which is seen only while it has the focus.
      await page.getByRole('link', { name: 'Skip to the content' }).focus();
      let stops = 0;
      for (; stops < STOPS; stops++) {
        const found = await focusRing(page);
        if (found === 'end') break;
        if (found !== 'seen') unseen.push(`${name}: ${found}`);
        await page.keyboard.press('Tab');
      }
      expect([name, stops > LEAST_STOPS]).toEqual([name, true]);
    }
    expect(unseen).toEqual([]);
  });

  test('the focus returns to the button when a dialog closes', async () => {
    const { page } = await on.visit({ key: await on.up.key(), at: `/campaigns/${on.scene.unknown}` });
    const resend = page.getByRole('button', { name: /^Send it again…/ }).first();
    const isFocused = (): Promise<boolean> => resend.evaluate((button) => button === document.activeElement);
    for (const close of ['Escape', 'Close']) {
      await resend.focus();
      await page.keyboard.press('Enter');
      const dialog = page.getByRole('dialog');
      await dialog.waitFor();
      expect(await dialog.evaluate((element) => element.contains(document.activeElement))).toBe(true);
      if (close === 'Escape') await page.keyboard.press('Escape');
      else await dialog.getByRole('button', { name: 'Close' }).click();
      await dialog.waitFor({ state: 'detached' }).catch(() => dialog.waitFor({ state: 'hidden' }));
      expect([close, await isFocused()]).toEqual([close, true]);
    }
  });

  test('what happens is announced at most every ten seconds', { timeout: 90_000 }, async () => {
    const { page } = await on.visit({ key: await on.up.key(), at: `/campaigns/${on.scene.scheduled}` });
    await page.getByRole('button', { name: /^Pause (?!updates)/ }).waitFor();
    const spoken = page.evaluate(
      (ms) =>
        new Promise<number[]>((resolve) => {
          const times: number[] = [];
          const spoken = '[aria-live], [role=status], [role=alert], [role=log], output';
          // Also of regions that are not there yet.
          const observer = new MutationObserver((changes) => {
            const elements = changes.map(({ target }) =>
              target instanceof Element ? target : target.parentElement,
            );
            if (elements.some((element) => element?.closest(spoken))) times.push(performance.now());
          });
          observer.observe(document.body, { subtree: true, childList: true, characterData: true });
          setTimeout(() => resolve(times), ms);
        }),
      LISTEN_MS,
    );
    const end = performance.now() + LISTEN_MS;
    for (let at = 0; performance.now() < end; at++)
      await on.up.api('POST', `/v1/campaigns/${on.scene.scheduled}/${at % 2 === 0 ? 'pause' : 'resume'}`, {});
    const times = await spoken;
    expect(times.length).toBeGreaterThan(1);
    const gaps = times.slice(1).map((time, at) => time - (times[at] ?? 0));
    expect(gaps.filter((gap) => gap > 50 && gap < EVERY_MS - 50)).toEqual([]);
  });
});

/** Whether the element with the focus, or the label around it, has a ring; `end`: the focus has left the page. */
function focusRing(page: Page): Promise<string> {
  return page.evaluate(() => {
    const focused = document.activeElement;
    if (focused === null || focused === document.body) return 'end';
    const around = [focused, focused.closest('label'), focused.closest('.field')];
    const hasRing = around.some((element) => {
      if (element === null) return false;
      const { outlineStyle, outlineWidth, outlineColor } = getComputedStyle(element);
      const { width, height } = element.getBoundingClientRect();
      const isDrawn = outlineStyle !== 'none' && Number.parseFloat(outlineWidth) >= 2;
      return isDrawn && !/, 0\)$/.test(outlineColor) && width > 4 && height > 4;
    });
    return hasRing ? 'seen' : focused.outerHTML.slice(0, 120);
  });
}
