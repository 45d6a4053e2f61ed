import { ErrorBoundary } from 'preact-iso';
import { LocationProvider, Route, Router } from 'preact-iso/router';
import { commandOf, HOME } from '../base/api.js';
import { staleBecause } from '../base/live.js';
import { begunLate, mayRun, session } from '../base/session.js';
import { texts } from '../base/texts.js';
import { Announcer } from '../parts/Announcer.js';
import { Patterns } from '../parts/Bar.js';
import { Title } from '../parts/Section.js';
import { Header } from './Header.js';
import { Shortcuts } from './Shortcuts.js';
import { SignIn } from './SignIn.js';
import { SCREENS } from './screens.js';

export function App() {
  if (session.value === undefined) return <main>{begunLate.value || texts.loading}</main>;
  if (session.value === null) return <SignIn />;
  return (
    // Another session finds nothing that this one has loaded or entered.
    <LocationProvider key={session.value.id} scope={HOME}>
      <Header />
      <main id="main" tabIndex={-1} class={staleBecause.value === null ? 'stack' : 'stack old'}>
        <ErrorBoundary>
          <Router onRouteChange={toTop}>
            {SCREENS.map(({ path, needs, component }) => (
              <Route
                key={path}
                path={path}
                component={
                  mayRun(needs) ? component : () => <Title text={texts.notAllowed(commandOf(needs))} />
                }
              />
            ))}
            <Route default component={() => <h1>{texts.notFound}</h1>} />
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
