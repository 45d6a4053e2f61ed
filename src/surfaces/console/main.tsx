import './base/theme.css';
import './parts/parts.css';
import { render } from 'preact';
import { startLive } from './base/live.js';
import { begin } from './base/session.js';
import './base/theme.js';
import { App } from './screens/App.js';

startLive();
void begin();
// A page that was kept for the way back asks again who is signed in.
addEventListener('pageshow', ({ persisted }) => persisted && void begin());
// A link that is pasted into a tab with this page changes only the fragment of the address.
addEventListener('hashchange', () => {
  if (location.hash.startsWith('#signin=')) void begin();
});
render(<App />, document.body);
