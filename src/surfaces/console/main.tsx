import './base/theme.css';
import './parts/parts.css';
import { render } from 'preact';
import { startLive } from './base/live.js';
import { begin } from './base/session.js';
import './base/theme.js';
import { App } from './screens/App.js';

startLive();
void begin();
render(<App />, document.body);
