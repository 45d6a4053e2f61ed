import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { recipients, type Up } from './up.js';

/*
 * Every screen with something on it, for checks of how screens look and what they offer.
 */

/** The list with every kind of error. */
export const MESSY = fileURLToPath(new URL('../../../examples/messy.csv', import.meta.url));

/** What the screens show. */
export interface Scene {
  /** A campaign with delivered, impossible, rejected, and unknown recipients. */
  readonly unknown: string;
  /** A campaign that will not start for a long time. */
  readonly scheduled: string;
}

/** Numbers with which the simulator ends in its own ways: delivered, impossible, unknown, rejected. */
const ENDINGS = ['01', '03', '31', '40'] as const;

/** Creates what the screens show, and waits until it has its outcomes. */
export async function setScene(up: Up): Promise<Scene> {
  const unknown = await up.send({
    name: 'Spring sale',
    lane: 'default',
    message: 'Hi {{name}}, 20% off',
    recipients: ENDINGS.map((ending) => ({ to: `+47955501${ending}`, name: `Ada ${ending}` })),
  });
  const scheduled = await up.send({
    name: 'Summer sale',
    lane: 'default',
    message: 'Hi {{name}}, it is here',
    sendAt: new Date(Date.now() + 86_400_000).toISOString(),
    recipients: recipients(250),
  });
  await up.api('POST', '/v1/suppressions', { numbers: ['+447700900001'], reason: 'asked by phone' });
  await until(async () => {
    const { counts } = await up.api<{ counts: Record<string, number> }>('GET', `/v1/campaigns/${unknown}`);
    return counts['unknown'] === 1 && counts['deliveredToTerminal'] === 1 && counts['rejected'] === 1;
  });
  await reply(up, {
    lane: 'default',
    from: '+4795550101',
    text: 'Is it for everyone? I would bring a friend.',
  });
  await reply(up, { lane: 'default', from: '+4795550103', text: 'STOP' });
  return { unknown, scheduled };
}

let replies = 0;
/** Lets a person answer the sender of the installation. */
export function reply(up: Up, answer: { lane: string; from: string; text: string }): Promise<unknown> {
  replies += 1;
  return up.api('POST', '/v1/inbound', { ...answer, messageId: `reply-${replies}`, to: 'ACME' });
}

/** A screen, how to get there, and what is there when it has loaded. */
export interface Screen {
  readonly name: string;
  readonly at: string;
  /** Makes the screen show what it is for. */
  show?(page: Page): Promise<void>;
}

/** Every screen. */
export const screensOf = ({ unknown, scheduled }: Scene, lane: string): readonly Screen[] => [
  {
    name: 'Overview',
    at: '/',
    show: (page) => page.getByRole('link', { name: 'Summer sale', exact: true }).waitFor(),
  },
  {
    name: 'Campaign with an unknown outcome',
    at: `/campaigns/${unknown}`,
    show: (page) =>
      page
        .getByRole('row', { name: /Delivered/ })
        .first()
        .waitFor(),
  },
  {
    name: 'Campaign that is scheduled',
    at: `/campaigns/${scheduled}`,
    show: (page) => page.getByRole('navigation', { name: 'Pages of Recipients' }).waitFor(),
  },
  { name: 'Lane', at: `/lanes/${lane}`, show: (page) => page.locator('svg.drawing').waitFor() },
  {
    name: 'Lanes',
    at: '/lanes',
    show: (page) => page.getByRole('link', { name: lane, exact: true }).waitFor(),
  },
  {
    name: 'New campaign',
    at: '/new',
    async show(page) {
      await chooseList(page, MESSY);
      await page.getByLabel('Country of national numbers').selectOption('GB');
      await page.getByLabel('Message', { exact: true }).fill('Hi {{name}}, it’s here');
      await page.getByText('Audience').waitFor();
    },
  },
  {
    name: 'Campaigns',
    at: '/campaigns',
    show: (page) => page.getByRole('link', { name: 'Spring sale' }).waitFor(),
  },
  { name: 'Replies', at: '/replies', show: (page) => page.getByText('Stopped: receives').waitFor() },
  {
    name: 'Find',
    at: '/find',
    async show(page) {
      await page.getByLabel('Number', { exact: true }).fill('+447700900001');
      await page.getByRole('button', { name: 'Find' }).click();
      await page.getByText('This number is suppressed').waitFor();
    },
  },
  { name: 'Outboxes', at: '/outboxes', show: settled },
  { name: 'Schedules', at: '/schedules', show: settled },
  { name: 'Webhooks', at: '/webhooks', show: (page) => page.getByText('There are no webhooks').waitFor() },
  {
    name: 'Suppressions',
    at: '/suppressions',
    show: (page) => page.getByText('asked by phone').waitFor(),
  },
  { name: 'Keys', at: '/keys', show: settled },
];

/** Chooses the list of a new campaign. */
export async function chooseList(page: Page, file: string): Promise<void> {
  await page.locator('input[type=file]').setInputFiles(file);
}

async function settled(page: Page): Promise<void> {
  await page.locator('h1').waitFor();
  await page.waitForFunction(() => document.querySelector('table[aria-busy=true]') === null);
}

/** Waits until something holds. */
export async function until(holds: () => Promise<boolean>, withinMs = 30_000): Promise<void> {
  const deadline = Date.now() + withinMs;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`it did not come true within ${withinMs} ms: ${holds}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
