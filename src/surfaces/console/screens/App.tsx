import { ErrorBoundary, lazy } from 'preact-iso';
import { LocationProvider, Route, Router } from 'preact-iso/router';
import { staleBecause } from '../base/live.js';
import { session } from '../base/session.js';
import { texts } from '../base/texts.js';
import { Announcer } from '../parts/Announcer.js';
import { Patterns } from '../parts/Bar.js';
import { Header } from './Header.js';
import { Overview } from './Overview.js';
import { Shortcuts } from './Shortcuts.js';
import { SignIn } from './SignIn.js';

/** Each screen besides the first one is loaded when it is opened. */
const Campaign = lazy(() => import('./Campaign.js').then(({ Campaign }) => Campaign));
const Lane = lazy(() => import('./Lane.js').then(({ Lane }) => Lane));
const Campaigns = lazy(() => import('./Campaigns.js').then(({ Campaigns }) => Campaigns));
const Find = lazy(() => import('./Find.js').then(({ Find }) => Find));
const Outboxes = lazy(() => import('./Outboxes.js').then(({ Outboxes }) => Outboxes));
const Schedules = lazy(() => import('./Outboxes.js').then(({ Schedules }) => Schedules));
const Suppressions = lazy(() => import('./Suppressions.js').then(({ Suppressions }) => Suppressions));
const Keys = lazy(() => import('./Keys.js').then(({ Keys }) => Keys));
const NewCampaign = lazy(() => import('./new/NewCampaign.js').then(({ NewCampaign }) => NewCampaign));
const Lanes = lazy(() => import('./Lane.js').then(({ Lanes }) => Lanes));

export function App() {
  if (session.value === undefined) return <p class="quiet">{texts.loading}</p>;
  if (session.value === null)
    return (
      <>
        <SignIn />
        <Announcer />
      </>
    );
  return (
    <LocationProvider scope="/console">
      <Header />
      <main id="main" tabIndex={-1} class={staleBecause.value === null ? 'stack' : 'stack old'}>
        <ErrorBoundary>
          <Router onRouteChange={toTop}>
            <Route path="/console/" component={Overview} />
            <Route path="/console/campaigns" component={Campaigns} />
            <Route path="/console/find" component={Find} />
            <Route path="/console/outboxes" component={Outboxes} />
            <Route path="/console/schedules" component={Schedules} />
            <Route path="/console/suppressions" component={Suppressions} />
            <Route path="/console/keys" component={Keys} />
            <Route path="/console/new" component={NewCampaign} />
            <Route path="/console/campaigns/:id" component={Campaign} />
            <Route path="/console/lanes" component={Lanes} />
            <Route path="/console/lanes/:name" component={Lane} />
            <Route default component={NotFound} />
          </Router>
        </ErrorBoundary>
      </main>
      <Announcer />
      <Patterns />
      <Shortcuts />
    </LocationProvider>
  );
}

let lastPath = location.pathname;
/** Another screen begins at its top, also for readers who hear it. A filter leaves the focus where it is. */
function toTop(): void {
  if (location.pathname === lastPath) return;
  lastPath = location.pathname;
  document.getElementById('main')?.focus({ preventScroll: true });
  scrollTo(0, 0);
}

function NotFound() {
  return <h1>{texts.notFound}</h1>;
}
