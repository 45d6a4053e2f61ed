import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { describe, expect, inject, test } from 'vitest';
import { chooseList, MESSY } from './screens.js';
import { stage } from './stage.js';

/** What LibreOffice has made, with a title above the header and two sheets. */
const WORKBOOK = new URL('../../intake/import/excel/libreoffice.xlsx', import.meta.url).pathname;

interface Problem {
  readonly line: number;
  readonly column: string | null;
  readonly message: string;
}

interface Preview {
  readonly invalid: number;
  readonly problems: readonly Problem[];
  readonly segments: { readonly total: number };
}

describe.skipIf(inject('chromium') === null)('New campaign', () => {
  const on = stage();

  /** What the API says about a list. */
  async function previewOf(campaign: object, list: string | Buffer): Promise<Preview> {
    const form = new FormData();
    form.append('campaign', JSON.stringify(campaign));
    form.append('recipients', new Blob([new Uint8Array(Buffer.from(list))]), 'list.csv');
    const response = await fetch(`${on.up.origin}/v1/preview?problems=1000`, {
      method: 'POST',
      headers: { authorization: `Bearer ${await on.up.key()}` },
      body: form,
    });
    return (await response.json()) as Preview;
  }

  test('marks every invalid cell of a list with the words of the server', async () => {
    const { page } = await on.visit({ key: await on.up.key(), at: '/new' });
    await chooseList(page, MESSY);
    await page.getByLabel('Country of national numbers').selectOption('GB');
    await page.getByLabel('Message', { exact: true }).fill('Hi {{name}} in {{city}}');
    await page.getByText('Audience').waitFor();
    await page.getByRole('button', { name: 'Show numbers' }).click();
    const campaign = { country: 'GB', message: 'Hi {{name}} in {{city}}' };
    const { invalid, problems } = await previewOf(campaign, readFileSync(MESSY));
    expect(invalid).toBeGreaterThan(8);
    expect(problems).toHaveLength(invalid);
    const rows = page.getByRole('table', { name: /invalid rows/ }).locator('tbody tr');
    await expect.poll(() => rows.count()).toBe(invalid);
    const shown = await rows.evaluateAll((all) =>
      all.map((row) => ({
        marked: [...row.querySelectorAll('td:has(mark)')].map(
          (cell) => (cell as HTMLElement).dataset['title'],
        ),
        message: row.lastElementChild?.textContent,
      })),
    );
    const columns = ['name', 'phone', 'city'];
    expect(shown).toEqual(
      problems.map(({ column, message }) => ({
        marked: column === null ? columns : [column],
        message: column === null ? message : message.replace(/^It /, `“${column}” `),
      })),
    );
  });

  test('saves a text with its sender under a name, and uses both again', async () => {
    const { page, expectError } = await on.visit({ key: await on.up.key(), at: '/new' });
    expectError(/400.*templates/);
    const [message, sender] = [page.getByLabel('Message', { exact: true }), page.getByLabel('Sender')];
    const saved = page.getByLabel('Use a saved text');
    await message.fill('Hi {{name}}, please pay');
    await sender.fill('SHOP');
    expect(await saved.count()).toBe(0);
    await page.getByRole('button', { name: 'Save this text…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('not a name');
    await dialog.getByRole('button', { name: 'Save this text' }).click();
    await dialog.getByText('1 to 64 letters, digits, - and _, and begins').waitFor();
    await dialog.getByLabel('Name').fill('reminder');
    await dialog.getByRole('button', { name: 'Save this text' }).click();
    await page.getByText('Template reminder is saved.').first().waitFor();
    await expect.poll(() => saved.inputValue()).toBe('reminder');
    await page.getByRole('button', { name: 'Start over' }).click();
    await expect.poll(() => saved.inputValue()).toBe('');
    await saved.selectOption('reminder');
    await expect.poll(() => message.inputValue()).toBe('Hi {{name}}, please pay');
    expect(await sender.inputValue()).toBe('SHOP');
  });

  test('sends a list with a column of countries, which it finds and shows', async () => {
    const { page } = await on.visit({ key: await on.up.key(), at: '/new' });
    const file = join(on.up.folder, 'countries.csv');
    writeFileSync(file, 'Handy;Name;Land\n0171 2345678;Änne;Deutschland\n20 12 34 56;Bo;Danmark\n');
    await chooseList(page, file);
    await page.getByLabel('Message', { exact: true }).fill('Hi {{Name}}');
    await page.getByText('Germany (+49) 1 · Denmark (+45) 1').waitFor();
    expect(await page.getByLabel('Column with countries').inputValue()).toBe('Land');
    await page.getByLabel('Type 2 to confirm').fill('2');
    await page.getByRole('button', { name: 'Send 2 messages' }).click();
    const open = page.getByRole('link', { name: 'Open that campaign' });
    const id = (await open.getAttribute('href'))?.split('/').at(-1);
    const { recipients } = await on.up.api<{ recipients: { to: string }[] }>(
      'GET',
      `/v1/campaigns/${id}/recipients`,
    );
    expect(recipients.map(({ to }) => to)).toEqual(['+491712345678', '+4520123456']);
    // The report is made for Excel, with the columns of the text, and has the name of the campaign.
    await open.click();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: '⤓ Report for Excel' }).click(),
    ]);
    const name = await page.getByRole('heading', { level: 1 }).textContent();
    expect(download.suggestedFilename()).toBe(`${name?.replace(/[:/]+/g, ' ').replace(/ +/g, ' ')}.csv`);
    const report = readFileSync(await download.path(), 'utf8');
    expect(report).toMatch(/^\ufeff"number".*"Name".*\r\n"=""\+491712345678""".*"Änne"/);
  });

  test('says what a row lacks, keeps the preview in its column, and schedules the campaign', async () => {
    const { page } = await on.visit({ key: await on.up.key(), at: '/new' });
    const file = join(on.up.folder, 'gaps.csv');
    writeFileSync(file, 'phone,first name\n+447700900001,Ada\n+447700900002,\n+447700900003,Bartholomew\n');
    await chooseList(page, file);
    // The default sender from the start, and what a name means beside it.
    const sender = page.locator('.field:has([name=sender])');
    expect(await sender.locator('input').getAttribute('placeholder')).toBe('ACME');
    expect(await sender.innerText()).toContain('recipients cannot reply to a name');
    expect(await page.locator('.phone').innerText()).toMatch(/^ACME/);
    await page.getByLabel('Message', { exact: true }).fill('Hi {{first name}}, it is here\n');
    await page.getByText('1 row has no {{first name}}, which the message uses').waitFor();
    await page
      .getByRole('cell', { name: '“first name” is empty, but the message uses {{first name}}.' })
      .waitFor();
    const right = (of: string) => page.locator(of).evaluate((each) => each.getBoundingClientRect().right);
    expect(await right('.phone-preview table')).toBeLessThanOrEqual((await right('.phone-preview')) + 1);
    await page.setViewportSize({ width: 360, height: 740 });
    const top = (of: string) => page.locator(of).evaluate((each) => each.getBoundingClientRect().top);
    const tops = await Promise.all(['#message', '.phone', '.phone-preview table', '.groups'].map(top));
    expect(tops).toEqual(tops.toSorted((one, other) => one - other));
    await page.getByText('Audience').waitFor();
    expect(await page.locator('main').innerText()).not.toMatch(/\brequests?\b|\blane/i);
    await page.getByLabel('Leave out invalid rows, and send to the others').check();
    await page.getByText('(1 row left out: 1 invalid row)').waitFor();
    await page.setViewportSize({ width: 1280, height: 900 });
    const note = page.getByText('The text ends with a line break');
    await page.getByLabel('Later').check();
    // Until there is a date, nothing says that it starts, and what was noted stays.
    await expect.poll(() => page.getByText('Choose a date first.').count()).toBeGreaterThan(2);
    expect(await note.isVisible()).toBe(true);
    expect(await page.locator('main').innerText()).not.toContain('now, as fast as');
    const zones = await page.getByLabel('Time zone').locator('option').allTextContents();
    expect(zones.slice(0, 2)).toContain('UTC');
    const start = new Date(Date.now() + 2 * 86_400_000).toISOString().slice(0, 16);
    await page.getByLabel('Date and time').fill(start);
    await page.getByLabel('Type 2 to confirm').fill('2');
    await page.getByRole('button', { name: 'Schedule 2 messages' }).click();
    const said = page.getByRole('status').filter({ hasText: /^The campaign is scheduled: 2 recipients, \d/ });
    await said.getByRole('link', { name: 'Open that campaign' }).click();
    await page.getByText(/^Scheduled; starts \d/).waitFor();
    await page
      .getByRole('row', { name: /Not sent yet/ })
      .first()
      .waitFor();
  });

  test('offers a country for national numbers, and the columns of a list of which it cannot tell them', async () => {
    const { page, expectError } = await on.visit({ key: await on.up.key(), at: '/new' });
    expectError(/status of 400/);
    const file = join(on.up.folder, 'two-columns.csv');
    writeFileSync(file, 'a,b,Land\n+4520123456,+4520123457,Danmark\n');
    await chooseList(page, file);
    await page.getByText('several columns could contain them ("a", "b"). Choose it below.').waitFor();
    await page.getByLabel('Column with phone numbers').selectOption('b');
    await page.getByText('Denmark (+45) 1').waitFor();
    const national = join(on.up.folder, 'national.csv');
    writeFileSync(national, 'phone,Land\n20123456,Danmark\n20123457,\n');
    await chooseList(page, national);
    await page.getByLabel('Message', { exact: true }).fill('Hi');
    await page.getByText('1 invalid row').waitFor();
    await page.getByLabel('Country of national numbers').selectOption({ label: 'Denmark' });
    await page.getByText('Denmark (+45) 2').waitFor();
    await page.getByLabel('Column with countries').selectOption({ label: 'no column' });
    await page.getByText('Denmark (+45) 2').waitFor();
    await page.getByLabel('Country of national numbers').selectOption('');
    await page.getByText('2 invalid rows').waitFor();
    await page.getByText('or choose column "Land" above, which contains countries').first().waitFor();
    expect(await page.getByLabel('Column with countries').inputValue()).toBe(' ');
  });

  test('reads the sheet of a workbook that a person chooses, below the header that it offers', async () => {
    const { page, expectError } = await on.visit({ key: await on.up.key(), at: '/new' });
    expectError(/status of 400/);
    await chooseList(page, WORKBOOK);
    await page.getByText('The header seems to be on line 3').waitFor();
    await page.getByRole('button', { name: 'Use line 3 as the header' }).click();
    await page.getByLabel('Country of national numbers').selectOption('NO');
    await page.getByLabel('Message', { exact: true }).fill('Hi {{name}}, until {{until}}');
    await page.locator('.bubble', { hasText: 'Hi Åse & Søn, “VIP”, until 2030-05-01' }).waitFor();
    await page.getByText('"25%" for 0.25 on line 4').waitFor();
    await page.getByLabel('Message', { exact: true }).fill('Hi');
    await page.getByLabel('Leave out invalid rows').check();
    await page.getByLabel('Type 3 to confirm').fill('3');
    await page.getByRole('button', { name: 'Send 3 messages' }).click();
    await page.getByText('The campaign is created: 3 recipients.').waitFor();
    // Another sheet, of a list that is chosen again.
    await page.goto(`${on.up.origin}/console/new`);
    await chooseList(page, WORKBOOK);
    await page.getByRole('button', { name: 'Use line 3 as the header' }).click();
    await page.getByLabel('Sheet').selectOption('Archive');
    await page.getByRole('button', { name: 'Undo' }).click();
    await expect.poll(() => page.getByLabel('Column with phone numbers').inputValue()).toBe('to');
  });

  test('inserts placeholders, groups what is wrong, and shows what each message takes', async () => {
    const { page } = await on.visit({ key: await on.up.key(), at: '/new' });
    const file = join(on.up.folder, 'grouped.csv');
    const bad = Array.from({ length: 30 }, (_, at) => `+44 ${120 + at},x`).join('\n');
    writeFileSync(
      file,
      `phone,name\n+447700900123,Ada\n+447700900124,${'long '.repeat(40)}\n${bad}\n+447700900123,Bo\n`,
    );
    await chooseList(page, file);
    expect(await page.getByLabel('Name of the campaign').inputValue()).toBe('grouped');
    const message = page.getByLabel('Message', { exact: true });
    await message.fill('Hi !');
    await message.evaluate((area: HTMLTextAreaElement) => area.setSelectionRange(3, 3));
    await page.getByRole('button', { name: '{{name}}' }).click();
    expect(await message.inputValue()).toBe('Hi {{name}}!');
    const groups = page.locator('.groups > li');
    await expect.poll(() => groups.locator('strong').allTextContents()).toEqual(['30 numbers are not valid']);
    const warning = page.locator('.note.warning');
    await expect
      .poll(() => warning.innerText())
      .toMatch(/^1 number appears again with another text\s+Row 2: “Hi Ada!” · Row 34: “Hi Bo!”$/);
    const messages = page.getByRole('table', { name: 'What messages take' }).locator('tbody tr');
    await expect.poll(() => messages.allTextContents()).toEqual(['First7 of 1601–', 'Longest204 of 3062–']);
    await page.getByRole('button', { name: 'Longest' }).click();
    await page.locator('.bubble', { hasText: 'long long' }).waitFor();
  });

  test('keeps a draft without its list until the person starts over or signs out, for the same key only', async () => {
    const key = await on.up.key();
    const { page } = await on.visit({ key, at: '/new' });
    await chooseList(page, MESSY);
    const message = page.getByLabel('Message', { exact: true });
    await message.fill('Kept text');
    await page.getByLabel('Later').check();
    await page.getByLabel('Date and time').fill('2020-01-01T09:00');
    await page.getByText('This time is in the past.').first().waitFor();
    await page.reload();
    await expect.poll(() => message.inputValue()).toBe('Kept text');
    await page.getByText('This time is in the past.').first().waitFor();
    expect(await page.evaluate(() => JSON.stringify(localStorage))).not.toMatch(/0770|\d{6}/);
    await page.getByRole('button', { name: 'Start over' }).click();
    expect(await message.inputValue()).toBe('');
    await message.fill('Another text');
    await page.getByRole('button', { name: /^Key:/ }).click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('API key').waitFor();
    expect(await page.evaluate(() => localStorage.getItem('volley-draft'))).toBeNull();
  });

  test('says what has become of the message to one phone', async () => {
    const { page } = await on.visit({ key: await on.up.key(), at: '/new' });
    const file = join(on.up.folder, 'one.csv');
    writeFileSync(file, 'phone\n+447700900125\n');
    await chooseList(page, file);
    await page.getByLabel('Message', { exact: true }).fill('Hi');
    await page.getByLabel('Your own number').fill('+447700900126');
    await page.getByRole('button', { name: 'Send a test to this number' }).click();
    const about = page.getByText('Your test:').locator('..');
    await expect
      .poll(() => about.textContent())
      .toMatch(/^Your test: (?:on network|delivered)\. +The test is campaign /i);
  });

  test('shows a script in a name as text, on the phone and in the tables', async () => {
    const { page } = await on.visit({ key: await on.up.key(), at: '/new' });
    const script = '<script>window.ran = true</script><img src=x onerror="window.ran = true">';
    const file = join(on.up.folder, 'script.csv');
    writeFileSync(
      file,
      `phone,name\n+447700900123,"${script.replaceAll('"', '""')}"\nbad,"${script.replaceAll('"', '""')}"\n`,
    );
    await chooseList(page, file);
    await page.getByLabel('Message', { exact: true }).fill('Hi {{name}}');
    await page.getByLabel('Name of the campaign').fill(script);
    await page.locator('.bubble', { hasText: `Hi ${script}` }).waitFor();
    await page.getByRole('cell', { name: script }).first().waitFor();
    const id = await on.up.send({ name: script, message: 'Hi', recipients: [{ to: '+447700900123' }] });
    await page.goto(`${on.up.origin}/console/campaigns/${id}`);
    await page.getByRole('heading', { level: 1, name: script }).waitFor();
    await page.goto(`${on.up.origin}/console/campaigns`);
    await page.getByRole('link', { name: script }).waitFor();
    expect(await page.evaluate(() => 'ran' in window)).toBe(false);
  });

  test.skipIf(!inject('isNightly'))(
    'counts the segments of a thousand random texts as the server does',
    { timeout: 600_000 },
    async () => {
      const { page } = await on.visit({ key: await on.up.key(), at: '/new' });
      const texts = Array.from({ length: 1_000 }, (_, at) => randomText(at));
      await page.getByLabel('Message', { exact: true }).waitFor();
      const shown = await countedInPage(page, texts);
      const wrong: object[] = [];
      for (const [at, message] of texts.entries()) {
        const { segments } = await on.up.api<Preview>('POST', '/v1/preview', {
          message,
          recipients: [{ to: '+447700900123' }],
        });
        if (segments.total !== shown[at]) wrong.push({ message, shown: shown[at], server: segments.total });
      }
      expect(wrong).toEqual([]);
    },
  );
});

/** What the phone says about each text, written into the message one after the other. */
function countedInPage(page: Page, texts: readonly string[]): Promise<number[]> {
  return page.evaluate(async (all) => {
    const area = document.querySelector<HTMLTextAreaElement>('#message');
    const found: number[] = [];
    for (const text of all) {
      if (area === null) throw new Error('there is no message');
      area.value = text;
      area.dispatchEvent(new Event('input', { bubbles: true }));
      // Until the page has drawn it.
      await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
      const bubble = document.querySelector('.bubble')?.textContent;
      if (bubble !== text) throw new Error(`the phone shows ${bubble} instead of ${text}`);
      found.push(Number(/\d+/.exec(document.querySelector('.phone-preview strong')?.textContent ?? '')));
    }
    return found;
  }, texts);
}

/** Characters of each kind that counts differently: GSM 7 bit, its extension, UCS-2, surrogates, and joined ones. */
const GSM = [...'abcdefghij ABC 0123 ,.!?@£$éùìòÇØøÅåΔ_ΦΓÆæß'];
const EXTENDED = [...GSM, ...'^{|}[~]\\€'];
const ALPHABET = [...EXTENDED, ...'’“–…çñÁкириλ漢字', '😀', '👩‍👩‍👧', '🇳🇴', 'é'];
const LONGEST = 400;

/** A text that depends only on `seed`. Two of three have only characters of GSM 7 bit, and one of these none of its extension. */
function randomText(seed: number): string {
  const bytes = Buffer.concat(
    Array.from({ length: 26 }, (_, at) => createHash('sha256').update(`${seed}-${at}`).digest()),
  );
  const kinds = [GSM, EXTENDED, ALPHABET][seed % 3]?.length ?? 1;
  const length = 1 + (bytes.readUInt16BE(0) % LONGEST);
  const characters = Array.from({ length }, (_, at) => ALPHABET[(bytes[2 + at] ?? 0) % kinds]);
  const text = characters
    .join('')
    .replace(/\{(?=\{)/g, '{ ')
    .trim();
  return text === '' ? 'a' : text;
}
