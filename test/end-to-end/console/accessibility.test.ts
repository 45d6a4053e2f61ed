import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { describe, expect, inject, test } from 'vitest';
import { signIn } from './browser.js';
import { screensOf } from './screens.js';
import { stage } from './stage.js';

/** What axe finds that keeps people from using a page, in the words of its rules. */
async function violations(page: Page, rules?: readonly string[]): Promise<string[]> {
  // Through the debugger, because the content security policy admits no scripts of others.
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe.source);
  return page.evaluate(async (only) => {
    const found = await window.axe.run(document, {
      resultTypes: ['violations'],
      ...(only && { runOnly: [...only] }),
    });
    return found.violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .flatMap(({ id, nodes }) =>
        nodes.map(({ target, failureSummary }) => `${id}: ${target} ${failureSummary}`),
      );
  }, rules);
}

declare global {
  interface Window {
    axe: typeof axe;
  }
}

describe.skipIf(inject('chromium') === null)('axe finds nothing serious', () => {
  const on = stage({ hasScene: true });

  test('on any screen, in light and in dark', { timeout: 120_000 }, async () => {
    const { page } = await on.visit({ colorScheme: 'light' });
    const found: Record<string, string[]> = {};
    const look = async (name: string): Promise<void> => {
      await page.emulateMedia({ colorScheme: 'light' });
      found[name] = await violations(page);
      await page.emulateMedia({ colorScheme: 'dark' });
      // The rest does not depend on colours.
      found[`${name}, dark`] = await violations(page, ['color-contrast']);
    };
    await page.getByLabel('API key').waitFor();
    await look('Sign in');
    await signIn(page, on.up.origin, await on.up.key());
    for (const { name, at, show } of screensOf(on.scene, 'default')) {
      await page.goto(`${on.up.origin}/console${at}`);
      await show?.(page);
      await look(name);
    }
    await page.goto(`${on.up.origin}/console/campaigns/${on.scene.unknown}`);
    await page.getByRole('button', { name: /^Send it again…/ }).click();
    await page.getByRole('dialog').waitFor();
    await look('Dialog');
    expect(Object.entries(found).filter(([, all]) => all.length > 0)).toEqual([]);
  });
});
