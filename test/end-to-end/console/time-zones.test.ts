import { describe, expect, inject, test } from 'vitest';
import { stage } from './stage.js';
import { recipients } from './up.js';

/** The next year in which a local time is still to come. */
const YEAR = new Date().getUTCFullYear() + 1;
/** The last Sunday of a month, when clocks change in Europe. */
const lastSunday = (month: number): string => {
  const last = new Date(Date.UTC(YEAR, month, 0));
  last.setUTCDate(last.getUTCDate() - last.getUTCDay());
  return last.toISOString().slice(0, 10);
};
const [SPRING, AUTUMN] = [lastSunday(3), lastSunday(10)];
/** A Sunday of a month, counted from the first, as clocks change in the United States. */
const sunday = (month: number, count: number): string => {
  const first = new Date(Date.UTC(YEAR, month - 1, 1));
  first.setUTCDate(1 + ((7 - first.getUTCDay()) % 7) + 7 * (count - 1));
  return first.toISOString().slice(0, 10);
};
const DAY = Number(SPRING.slice(8));

describe.skipIf(!inject('isNightly'))('Times', () => {
  const on = stage();

  test.each([
    ['Europe/Oslo', `${SPRING}T01:30`, '00:30'],
    ['Europe/Oslo', `${SPRING}T03:30`, '01:30'],
    ['Asia/Kolkata', `${SPRING}T09:00`, '03:30'],
    ['America/Los_Angeles', `${SPRING}T09:00`, '16:00'],
  ])('In %s, %s is shown as %s UTC before a campaign is scheduled', async (timezoneId, local, utc) => {
    const { page } = await on.visit({ key: await on.up.key(), at: '/new', timezoneId });
    await page.getByLabel('Later').check();
    await page.getByLabel('Date and time').fill(local);
    const shown = page.getByText(new RegExp(`= .*${DAY} Mar.* ${utc} UTC`));
    await expect.poll(() => shown.isVisible()).toBe(true);
  });

  test.each([
    ['is skipped', 'Europe/Oslo', `${SPRING}T02:30`],
    ['is repeated', 'Europe/Oslo', `${AUTUMN}T02:30`],
    ['is skipped', 'America/Los_Angeles', `${sunday(3, 2)}T02:30`],
    ['is repeated', 'America/Los_Angeles', `${sunday(11, 1)}T01:30`],
  ])(
    'A local time that %s in the night of the change in %s is refused with the reason',
    async (kind, timezoneId, local) => {
      const { page } = await on.visit({ key: await on.up.key(), at: '/new', timezoneId });
      await page.getByLabel('Later').check();
      await page.getByLabel('Date and time').fill(local);
      const field = page.getByLabel('Date and time');
      await expect.poll(() => field.getAttribute('aria-invalid')).toBe('true');
      const reason = await page.locator('.field:has([name=local]) .error').textContent();
      expect(reason).toMatch(kind === 'is skipped' ? /skips/ : /twice/);
    },
  );

  test.each([
    ['Europe/Oslo', 'Europe/Oslo', `${DAY} Mar ${YEAR} 03:30`],
    ['Asia/Kolkata', 'Europe/Oslo', `${DAY} Mar ${YEAR} 03:30 CEST`],
    ['Europe/Oslo', 'America/Los_Angeles', `${DAY - 1} Mar ${YEAR} 18:30 Los Angeles time`],
  ])('A reader in %s sees the start of a campaign in its zone %s', async (timezoneId, zone, text) => {
    const sendAt = `${SPRING}T01:30:00Z`;
    const message = `Hi from ${zone} to ${timezoneId}`;
    const id = await on.up.send({ name: 'Spring', message, recipients: recipients(1), sendAt, zone });
    const { page } = await on.visit({ key: await on.up.key(), at: `/campaigns/${id}`, timezoneId });
    const facts = page.getByRole('region', { name: 'About this campaign' });
    await expect.poll(() => facts.getByText(text).first().isVisible()).toBe(true);
  });
});
