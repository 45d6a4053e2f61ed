import { ErrorBoundary } from 'preact-iso';
import { LocationProvider, Route, Router } from 'preact-iso/router';
import { staleBecause } from '../base/live.js';
import { session } from '../base/session.js';
import { texts } from '../base/texts.js';
import { Announcer } from '../parts/Announcer.js';
import { Patterns } from '../parts/Bar.js';
import { Header } from './Header.js';
import { Shortcuts } from './Shortcuts.js';
import { SignIn } from './SignIn.js';
import { SCREENS } from './screens.js';

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
            {SCREENS.map(({ path, component }) => (
              <Route key={path} path={path} component={component} />
            ))}
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
