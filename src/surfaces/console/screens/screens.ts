import { type ComponentType, h } from 'preact';
import { lazy } from 'preact-iso';
import { useRoute } from 'preact-iso/router';
import { HOME, type Name } from '../base/api.js';
import { labelOf } from '../base/texts.js';

export interface Screen {
  readonly path: string;
  readonly component: ComponentType;
  /** An operation that it needs. For a key that may not run it, the page says so and requests nothing. */
  readonly needs: Name;
  /** Its name in the navigation. Without it, another screen leads to it. */
  readonly label?: string;
}

/** A screen that is loaded when it is opened. Those of one thing are not in the navigation. */
const screen = (name: string, needs: Name, load: () => Promise<ComponentType>): Screen => ({
  path: `${HOME}/${name}`,
  component: lazy(load),
  needs,
  ...(!name.includes('/') && { label: labelOf(name || 'overview') }),
});

/** A screen of one thing, which its address names. Another one begins with nothing of this one. */
const screenOfOne = (name: string, load: () => Promise<ComponentType<{ readonly of: string }>>): Screen =>
  screen(`${name}/:of`, 'followLive', async () => {
    const One = await load();
    return () => {
      const { of = '' } = useRoute().params;
      return h(One, { key: of, of });
    };
  });

type List = keyof typeof import('./lists.js').LISTS;
const list = (name: List, needs: Name): Screen =>
  screen(name, needs, () => import('./lists.js').then(({ LISTS }) => LISTS[name]));

/** The screens, in the order of the navigation. */
export const SCREENS: readonly Screen[] = [
  screen('', 'followLive', () => import('./Overview.js').then(({ Overview }) => Overview)),
  screen('new', 'uploadCampaign', () => import('./new/NewCampaign.js').then((file) => file.NewCampaign)),
  list('campaigns', 'listCampaigns'),
  screenOfOne('campaigns', () => import('./Campaign.js').then(({ Campaign }) => Campaign)),
  screen('replies', 'listInbound', () => import('./Replies.js').then(({ Replies }) => Replies)),
  screen('lanes', 'followLive', () => import('./Lane.js').then(({ Lanes }) => Lanes)),
  screenOfOne('lanes', () => import('./Lane.js').then(({ Lane }) => Lane)),
  screen('find', 'findNumber', () => import('./Find.js').then(({ Find }) => Find)),
  list('outboxes', 'listOutboxes'),
  list('schedules', 'listSchedules'),
  screen('webhooks', 'listWebhooks', () => import('./Webhooks.js').then(({ Webhooks }) => Webhooks)),
  list('suppressions', 'listSuppressionOperations'),
  list('keys', 'listKeys'),
];
