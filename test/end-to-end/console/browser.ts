import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from 'playwright-core';
import { expect, inject, onTestFinished } from 'vitest';
import type { Up } from './up.js';

/*
 * Pages of the console in a real browser. Whatever a check is about, no page may log an error, break the content security policy, or ask
 * another host for anything.
 */

const FLAGS = [
  // Root, as which CI runs, may not use the sandbox.
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--host-resolver-rules=MAP *.example 127.0.0.1',
  // Without the suggestions of its address bar, for which each window starts two processes. The rest are those that Playwright disables,
  // because this list replaces its own.
  `--disable-features=${[
    ...['WebUIOmniboxPopup', 'WebUIOmniboxAimPopup', 'WebUIOmniboxFullPopup', 'AimEnabled'],
    ...['HttpsUpgrades', 'HttpsFirstBalancedModeAutoEnable', 'AvoidUnnecessaryBeforeUnloadCheckSync'],
    ...['DestroyProfileOnBrowserClose', 'LensOverlay', 'MediaRouter', 'PaintHolding', 'OptimizationHints'],
    ...['ThirdPartyStoragePartitioning', 'AvoidCorsURLLoaderRestartOnRedirect', 'PreconnectToSearch'],
    ...['NetworkTimeServiceQuerying'],
  ].join()}`,
];

/**
 * Starts the browser of a test file. `keepsPages`: like the browsers of people, it keeps pages that a tab has left for the way back, which
 * Playwright turns off.
 */
export function startBrowser({ keepsPages = false } = {}): Promise<Browser> {
  const executablePath = inject('chromium');
  if (executablePath === null) throw new Error('there is no Chromium');
  const ignoreDefaultArgs = keepsPages ? ['--disable-back-forward-cache'] : [];
  return chromium.launch({ executablePath, args: FLAGS, ignoreDefaultArgs });
}

/** A page, and what went wrong in it. */
export interface Visit {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Every address that it has asked for. */
  readonly requested: readonly string[];
  /** What may be logged as an error: a refusal that the check provokes. */
  expectError(text: RegExp): void;
}

export interface VisitOptions extends BrowserContextOptions {
  /** The API key that signs in; without one, the page asks for it. */
  readonly key?: string;
  /** Where to begin, below /console. */
  readonly at?: string;
}

/** Opens the console in a context of its own until the test ends, and fails the test if something went wrong in it. */
export async function visit(
  browser: Browser,
  { origin }: Pick<Up, 'origin'>,
  { key, at = '/', ...options }: VisitOptions = {},
): Promise<Visit> {
  const context = await browser.newContext(options);
  const faults: string[] = [];
  const requested: string[] = [];
  const expected: RegExp[] = [];
  context.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning')
      faults.push(`${message.type()}: ${message.text()} (${message.location().url})`);
  });
  context.on('weberror', (error) => faults.push(`uncaught: ${error.error().stack}`));
  context.on('request', (request) => {
    const url = request.url();
    requested.push(url);
    if (!url.startsWith(`${origin}/`) && !/^(data|blob):/.test(url)) faults.push(`another host: ${url}`);
  });
  await context.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI, sample }) =>
      console.error(`content security policy: ${violatedDirective} ${blockedURI} ${sample}`),
    );
  });
  onTestFinished(async () => {
    await context.close();
    // The message as well, because a report shortens the value.
    const unexpected = faults.filter((fault) => !expected.some((text) => text.test(fault))).join('\n');
    expect(unexpected, unexpected).toBe('');
  });
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  if (key !== undefined) await signIn(page, origin, key);
  if (key === undefined || at !== '/') await page.goto(`${origin}/console${at}`);
  return { page, context, requested, expectError: (text) => void expected.push(text) };
}

/** Signs in with a key, as a person does. */
export async function signIn(page: Page, origin: string, key: string): Promise<void> {
  await page.goto(`${origin}/console/`);
  await page.getByLabel('API key').fill(key);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
}
