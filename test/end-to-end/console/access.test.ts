import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page, Request } from 'playwright-core';
import { describe, expect, inject, onTestFinished, test } from 'vitest';
import { screensOf } from './screens.js';
import { stage } from './stage.js';
import type { Up } from './up.js';

/** What buttons of commands say. Filters, pages, and the menu change nothing. */
const COMMANDS =
  /^(Pause(?! updates)( .*)?|Resume( .*)?|Stop the campaign|Delete|Hold|They got it|They did not get it|Send (it )?again( .*)?|Suppress|Suppress numbers|Lift|Undo|Revoke|Run now|Close|Send a test.*|Send \d.*)(….*)?$/;
const OTHER_LANE = 'secretlane';

describe.skipIf(inject('chromium') === null)('Who may do what', () => {
  const on = stage({ lanes: [{ name: 'default' }, { name: OTHER_LANE }], hasScene: true });

  test('A key that may only read sees no command on any screen, and its requests are refused', async () => {
    const { page, expectError } = await on.visit({ key: await on.up.key(['read']) });
    const forbidden: string[] = [];
    page.on('response', (response) => void (response.status() === 403 && forbidden.push(response.url())));
    for (const { name, at, show } of screensOf(on.scene, 'default')) {
      if (name === 'New campaign') continue;
      await page.goto(`${on.up.origin}/console${at}`);
      // Some screens are not for this key.
      if (name !== 'Keys' && name !== 'Suppressions') await show?.(page);
      else await page.locator('h1').waitFor();
      const buttons = await page.getByRole('button').allTextContents();
      expect([name, buttons.filter((text) => COMMANDS.test(text.trim()))]).toEqual([name, []]);
      expect(await page.locator('a[href="/console/new"]').count()).toBe(0);
      expect(await page.locator('dialog form').count()).toBe(0);
    }
    // What it may not read is not asked for.
    expect(forbidden).toEqual([]);
    expectError(/status of 403/);
    const refused = await page.evaluate(async (id) => {
      const paths = [`campaigns/${id}/pause`, `campaigns/${id}/cancel`, 'lanes/default/hold'];
      const statuses = paths.map((path) => fetch(`/v1/${path}`, { method: 'POST' }));
      return (await Promise.all(statuses)).map(({ status }) => status);
    }, on.scene.scheduled);
    expect(refused).toEqual([403, 403, 403]);
  });

  test('A key that may only send sees on every other screen what it needs, and asks for nothing', async () => {
    const { page } = await on.visit();
    await page.getByLabel('API key').fill(await on.up.key(['send']));
    await page.getByRole('button', { name: 'Sign in' }).click();
    for (const { name, at } of screensOf(on.scene, 'default')) {
      const needs = { Keys: 'admin', Campaigns: 'status' }[name] ?? 'read';
      const title =
        name === 'New campaign' ? name : `Your key may not use this page. It needs the scope ${needs}.`;
      await page.getByRole('navigation', { name: 'Main' }).waitFor();
      await page.goto(`${on.up.origin}/console${at}`);
      const heading = page.getByRole('heading', { level: 1, name: title });
      await expect.poll(() => heading.isVisible()).toBe(true);
    }
  });

  test('A key of one lane does not learn the name of another', async () => {
    await on.up.send({
      name: 'Other sale',
      again: true,
      lane: OTHER_LANE,
      message: 'Hi',
      recipients: [{ to: '+447700900123' }],
    });
    const key = await on.up.key(['read', 'send', 'operate'], ['default']);
    const { page, context } = await on.visit({ key });
    const leaks: string[] = [];
    context.on('response', async (response) => {
      const isStream = response.headers()['content-type']?.startsWith('text/event-stream');
      const body = isStream ? '' : await response.text().catch(() => '');
      if (body.includes(OTHER_LANE) || body.includes('Other sale')) leaks.push(response.url());
    });
    for (const { name, at, show } of screensOf(on.scene, 'default')) {
      // It is not offered to this key.
      if (name === 'Keys') continue;
      await page.goto(`${on.up.origin}/console${at}`);
      if (name !== 'Suppressions') await show?.(page);
      else await page.locator('h1').waitFor();
      const content = await page.content();
      if (content.includes(OTHER_LANE) || content.includes('Other sale')) leaks.push(name);
    }
    const stream = await beginOfStream(page);
    expect(stream).toContain('default');
    expect(stream).not.toContain(OTHER_LANE);
    expect(leaks).toEqual([]);
  });

  test('When its key is revoked, the page signs out and its stream closes within 2 s', async () => {
    const key = await on.up.key(undefined, [], 'a key to revoke');
    const { page, expectError } = await on.visit({ key });
    expectError(/status of 401/);
    const live = page.locator('[data-stream=live]');
    await live.waitFor();
    const isStream = (request: Request): boolean => request.url().includes('/v1/live');
    const closed = new Promise<void>((resolve) => {
      const take = (request: Request): void => void (isStream(request) && resolve());
      page.on('requestfinished', take);
      page.on('requestfailed', take);
    });
    const id = /^vk_([0-9a-f]{12})_/.exec(key)?.[1] ?? '';
    await on.up.volley('keys', 'revoke', id);
    const revokedAt = performance.now();
    await Promise.all([closed, page.getByText('Your session has ended, or its key was revoked.').waitFor()]);
    expect(performance.now() - revokedAt).toBeLessThan(2_000);
  });

  test('Another site, and another port of this host, can do nothing with the cookie', async () => {
    const { page, context } = await on.visit({ key: await on.up.key() });
    const elsewhere = createServer((_, response) => {
      response.setHeader('content-type', 'text/html').end('<title>Elsewhere</title>');
    });
    await once(elsewhere.listen(0, '127.0.0.1'), 'listening');
    onTestFinished(() => void elsewhere.close());
    const { port } = elsewhere.address() as AddressInfo;
    const pause = `${on.up.origin}/v1/campaigns/${on.scene.scheduled}/pause`;
    // The same from the page itself works, so what is refused below is refused because of where it comes from.
    const resume = pause.replace(/pause$/, 'resume');
    for (const path of [pause, resume])
      expect(await page.evaluate(async (url) => (await fetch(url, { method: 'POST' })).status, path)).toBe(
        200,
      );
    for (const host of ['127.0.0.1', 'attacker.example']) {
      const other = await context.browser()?.newContext();
      if (other === undefined) throw new Error('there is no browser');
      onTestFinished(() => other.close());
      await other.addCookies(await context.cookies());
      const attacker = await other.newPage();
      await attacker.goto(`http://${host}:${port}/`);
      const statuses: number[] = [];
      attacker.on('response', (response) => {
        if (response.url().startsWith(on.up.origin)) statuses.push(response.status());
      });
      await attacker.evaluate(async (url) => {
        await fetch(url, { method: 'POST', credentials: 'include', mode: 'no-cors' }).catch(() => {});
        const session = new URL('/session', url).href;
        await fetch(session, { method: 'DELETE', credentials: 'include', mode: 'no-cors' }).catch(() => {});
      }, pause);
      await attacker.evaluate((url) => {
        const form = Object.assign(document.createElement('form'), { method: 'post', action: url });
        document.body.append(form);
        form.submit();
      }, pause);
      await expect.poll(() => statuses.length).toBeGreaterThanOrEqual(2);
      expect(statuses.filter((status) => status < 400)).toEqual([]);
    }
    const { state } = await on.up.api<{ state: string }>('GET', `/v1/campaigns/${on.scene.scheduled}`);
    expect(state).toBe('scheduled');
    await page.reload();
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  });

  test('A sign-in link works once and leaves no trace', async () => {
    const link = await linkOf(on.up);
    const secret = new URL(link).hash.replace('#signin=', '');
    expect(secret.length).toBeGreaterThan(40);
    const { page, context, requested } = await on.visit();
    const headers: string[] = [];
    context.on('request', async (request) => headers.push(JSON.stringify(await request.allHeaders())));
    await page.goto(link);
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    await page.getByRole('link', { name: 'Campaigns', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'Campaigns' }).waitFor();
    const visited = await page.evaluate(() => [
      location.href,
      document.referrer,
      ...navigation.entries().map(({ url }) => url ?? ''),
    ]);
    await page.goBack();
    visited.push(page.url());
    expect([...visited, ...requested, ...headers].filter((text) => text.includes(secret))).toEqual([]);
    expect(on.up.printed).not.toContain(secret);
    // Another browser.
    const second = await on.visit();
    second.expectError(/status of 401/);
    await second.page.getByLabel('API key').waitFor();
    await second.page.goto(link);
    await second.page.getByText('This link was used already, or is older than ten minutes.').waitFor();
  });
});

/** A new link, as a person prints it. */
async function linkOf(up: Up): Promise<string> {
  const printed = await up.volley('console');
  const link = /http:\S+#signin=\S+/.exec(printed)?.[0];
  if (link === undefined) throw new Error(`there is no link in ${printed}`);
  return link;
}

/** What the stream of a page begins with. */
function beginOfStream(page: Page): Promise<string> {
  return page.evaluate(async () => {
    const { body } = await fetch('/v1/live', { headers: { accept: 'text/event-stream' } });
    if (body === null) throw new Error('the stream has no body');
    let text = '';
    const decoder = new TextDecoder();
    for await (const chunk of body) {
      text += decoder.decode(chunk, { stream: true });
      if (text.split('event: tick').length > 3) break;
    }
    return text;
  });
}
