import type { Browser } from 'playwright-core';
import { afterAll, beforeAll } from 'vitest';
import { startBrowser, type Visit, type VisitOptions, visit } from './browser.js';
import { type Scene, setScene } from './screens.js';
import { type LaneSettings, START_MS, startUp, type Up } from './up.js';

/** A running Volley and a browser, which the tests of a group share. `hasScene`: with something on every screen. */
export function stage({ lanes = [], hasScene = false }: { lanes?: LaneSettings[]; hasScene?: boolean } = {}) {
  let browser: Browser;
  const on = {} as { up: Up; scene: Scene };
  beforeAll(async () => {
    [on.up, browser] = await Promise.all([startUp(lanes), startBrowser()]);
    if (hasScene) on.scene = await setScene(on.up);
  }, START_MS);
  afterAll(async () => {
    await Promise.all([on.up?.stop(), browser?.close()]);
  });
  return Object.assign(on, {
    /** Opens the console in a context of its own until the test ends. See {@link visit}. */
    visit: (options?: VisitOptions): Promise<Visit> => visit(browser, on.up, options),
  });
}
