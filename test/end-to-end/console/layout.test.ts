import type { Locator, Page } from 'playwright-core';
import { describe, expect, inject, test } from 'vitest';
import { KIND_OF } from '../../../src/surfaces/console/base/recipients.js';
import { screensOf } from './screens.js';
import { stage } from './stage.js';

/** The smallest side of what is clicked or tapped, in CSS pixels (WCAG 2.2, 2.5.8). */
const TARGET = 24;

/** What is too wide for the page, and what is too small to tap. Links in a sentence are as high as its line. */
const misfits = (page: Page): Promise<string[]> =>
  page.evaluate((least) => {
    const found: string[] = [];
    const { scrollWidth, clientWidth } = document.documentElement;
    const isSeen = (element: Element): boolean =>
      element.checkVisibility({ visibilityProperty: true }) && element.closest('.unseen, .skip') === null;
    const name = (element: Element): string => `${element.outerHTML.slice(0, 100)}`;
    if (scrollWidth > clientWidth) {
      const wide = [...document.body.querySelectorAll('*')].filter(
        (element) => isSeen(element) && element.getBoundingClientRect().right > clientWidth + 1,
      );
      found.push(`scrolls to ${scrollWidth} of ${clientWidth}: ${wide.slice(0, 3).map(name).join(' ')}`);
    }
    const targets = 'button, input, select, textarea, summary, nav a, a.button, th a, h3 a';
    for (const element of document.querySelectorAll(targets)) {
      // A control in a label can be tapped anywhere on it.
      const box = (element.closest('label') ?? element).getBoundingClientRect();
      if (isSeen(element) && box.width > 0 && Math.min(box.width, box.height) < least - 0.5)
        found.push(`${Math.round(box.width)} × ${Math.round(box.height)}: ${name(element)}`);
    }
    return found;
  }, TARGET);

/** What an element looks like, wherever it is: between two pixels, everything looks different. */
async function pixels(target: Locator): Promise<string> {
  const move = (position: string): Promise<void> =>
    target.evaluate((element, to) => {
      Object.assign((element as HTMLElement).style, { position: to, inset: '0 auto auto 0', zIndex: '9' });
    }, position);
  await move('fixed');
  const looks = (await target.screenshot()).toString('base64');
  await move('');
  return looks;
}

describe.skipIf(!inject('isNightly'))('How the page looks', () => {
  const on = stage({ hasScene: true });

  // At 400 %, a window of 1280 × 1024 pixels is as wide as one of 320.
  test.each([
    ['360 px wide', { width: 360, height: 740 }],
    ['at 400 %', { width: 320, height: 256 }],
  ])(
    'No screen scrolls sideways or has a target below 24 px: %s',
    { timeout: 180_000 },
    async (_name, viewport) => {
      const { page } = await on.visit({ key: await on.up.key(), viewport });
      const found: Record<string, string[]> = {};
      for (const { name, at, show } of screensOf(on.scene, 'default')) {
        await page.goto(`${on.up.origin}/console${at}`);
        await show?.(page);
        found[name] = await misfits(page);
      }
      await page.getByRole('button', { name: /^Key: / }).click();
      found['Menu'] = await misfits(page);
      expect(Object.entries(found).filter(([, all]) => all.length > 0)).toEqual([]);
    },
  );

  test('Light and dark follow the system, until a person chooses', async () => {
    const { page } = await on.visit({ key: await on.up.key(), colorScheme: 'light' });
    const brightness = (): Promise<number> =>
      page.evaluate(() => {
        const [red = 0] =
          getComputedStyle(document.documentElement)
            .backgroundColor.match(/[\d.]+/g)
            ?.map(Number) ?? [];
        return red;
      });
    expect(await brightness()).toBeGreaterThan(200);
    await page.emulateMedia({ colorScheme: 'dark' });
    expect(await brightness()).toBeLessThan(60);
    await page.getByRole('button', { name: /^Key: / }).click();
    await page.getByLabel('Theme').selectOption('Light');
    expect(await brightness()).toBeGreaterThan(200);
    await page.reload();
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    expect(await brightness()).toBeGreaterThan(200);
    await page.getByRole('button', { name: /^Key: / }).click();
    await page.getByLabel('Theme').selectOption('As the system');
    expect(await brightness()).toBeLessThan(60);
  });

  test.each([
    ['in light', { colorScheme: 'light' }],
    ['in dark', { colorScheme: 'dark' }],
    ['with forced colours', { forcedColors: 'active' }],
  ] as const)('Each state of recipients looks unlike the others %s', async (_name, media) => {
    const { page } = await on.visit({ key: await on.up.key(), at: `/campaigns/${on.scene.unknown}` });
    await page.emulateMedia(media);
    const swatches = page.locator('.machine .swatch');
    await swatches.first().waitFor();
    const looks = new Set<string>();
    for (const swatch of await swatches.all()) looks.add(await pixels(swatch));
    expect(looks.size).toBe(new Set(Object.values(KIND_OF)).size);
  });

  test('With forced colours, buttons, badges, and the focus can be seen', async () => {
    const { page } = await on.visit({ key: await on.up.key(), at: `/campaigns/${on.scene.scheduled}` });
    await page.emulateMedia({ forcedColors: 'active' });
    const pause = page.getByRole('button', { name: /^Pause (?!updates)/ });
    await pause.waitFor();
    for (const seen of [pause, page.locator('.badge').first()])
      expect(
        await seen.evaluate((element) => {
          const { borderStyle, borderWidth } = getComputedStyle(element);
          return [borderStyle, Number.parseFloat(borderWidth) >= 1];
        }),
      ).toEqual(['solid', true]);
    await page.keyboard.press('Tab');
    await pause.focus();
    expect(await pause.evaluate((button) => getComputedStyle(button).outlineStyle)).toBe('solid');
  });
});
