import type { ComponentType } from 'preact';
import { lazy } from 'preact-iso';
import type { Name } from '../base/api.js';
import { texts } from '../base/texts.js';
import { Overview } from './Overview.js';

export interface Screen {
  readonly path: string;
  readonly component: ComponentType;
  /** An operation that it needs. For a key that may not run it, the page says so and requests nothing. */
  readonly needs: Name;
  /** Its name in the navigation. Without it, another screen leads to it. */
  readonly label?: string;
}

type List = Exclude<keyof typeof import('./lists.js'), 'default'>;
const list = (name: List): ComponentType => lazy(() => import('./lists.js').then((lists) => lists[name]));

const { nav } = texts;

/** The screens, in the order of the navigation. Each besides the first is loaded when it is opened. */
export const SCREENS: readonly Screen[] = [
  { path: '/console/', label: nav.overview, needs: 'followLive', component: Overview },
  {
    path: '/console/new',
    label: nav.new,
    needs: 'uploadCampaign',
    component: lazy(() => import('./new/NewCampaign.js').then(({ NewCampaign }) => NewCampaign)),
  },
  { path: '/console/campaigns', label: nav.campaigns, needs: 'listCampaigns', component: list('Campaigns') },
  {
    path: '/console/campaigns/:id',
    needs: 'followLive',
    component: lazy(() => import('./Campaign.js').then(({ Campaign }) => Campaign)),
  },
  {
    path: '/console/lanes',
    label: nav.lanes,
    needs: 'followLive',
    component: lazy(() => import('./Lane.js').then(({ Lanes }) => Lanes)),
  },
  {
    path: '/console/lanes/:name',
    needs: 'followLive',
    component: lazy(() => import('./Lane.js').then(({ Lane }) => Lane)),
  },
  {
    path: '/console/find',
    label: nav.find,
    needs: 'findNumber',
    component: lazy(() => import('./Find.js').then(({ Find }) => Find)),
  },
  { path: '/console/outboxes', label: nav.outboxes, needs: 'listOutboxes', component: list('Outboxes') },
  { path: '/console/schedules', label: nav.schedules, needs: 'listSchedules', component: list('Schedules') },
  {
    path: '/console/suppressions',
    label: nav.suppressions,
    needs: 'listSuppressionOperations',
    component: list('Suppressions'),
  },
  { path: '/console/keys', label: nav.keys, needs: 'listKeys', component: list('Keys') },
  { path: '/console/workers', label: nav.workers, needs: 'listWorkers', component: list('Workers') },
];
