import { useLocation } from 'preact-iso/router';
import type { Name } from '../base/api.js';
import { dataAt, isPaused, redis, staleBecause, streamState } from '../base/live.js';
import { isRevealed, reveal } from '../base/masked.js';
import { mayRun, type Session, session, signOut } from '../base/session.js';
import { texts } from '../base/texts.js';
import { THEMES, type Theme, theme } from '../base/theme.js';
import { spanText } from '../base/times.js';
import { useNow } from '../parts/Time.js';

/** The screens, each with an operation that it needs. */
const LINKS: readonly (readonly [href: string, label: string, needs: Name])[] = [
  ['/console/', texts.nav.overview, 'listCampaigns'],
  ['/console/new', texts.nav.new, 'uploadCampaign'],
  ['/console/lanes', texts.nav.lanes, 'listLanes'],
];

/** On every page: which service it is about, whether the page is live, who uses it, and where else to go. */
export function Header() {
  const { path } = useLocation();
  const key = session.value;
  if (!key) return null;
  return (
    <header class="header">
      <a class="skip" href="#main">
        {texts.nav.skip}
      </a>
      <a class="brand" href="/console/">
        Volley
      </a>
      <Service {...key} />
      <nav aria-label={texts.nav.main}>
        <ul>
          {LINKS.filter(([, , needs]) => mayRun(needs)).map(([href, label]) => (
            <li key={href}>
              <a href={href} aria-current={isAt(path, href) ? 'page' : undefined}>
                {label}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <Stream />
      <details class="menu">
        <summary>{texts.header.key(key.name)}</summary>
        <div>
          <label>
            <input
              type="checkbox"
              checked={isRevealed.value}
              onChange={(event) => reveal(event.currentTarget.checked)}
            />
            {texts.header.reveal}
          </label>
          <label>
            {texts.header.theme}
            <select
              value={theme.value}
              onChange={(event) => (theme.value = event.currentTarget.value as Theme)}
            >
              {THEMES.map((name) => (
                <option key={name} value={name}>
                  {texts.header.themes[name]}
                </option>
              ))}
            </select>
          </label>
          <button type="button" onClick={() => void signOut()}>
            {texts.header.signOut}
          </button>
        </div>
      </details>
      <Age />
    </header>
  );
}

const isAt = (path: string, href: string): boolean =>
  href === '/console/' ? path === href : path === href || path.startsWith(`${href}/`);

/** SIMULATOR, or the hosts to which messages really go. */
function Service({ simulator, services }: Session) {
  if (simulator)
    return (
      <strong class="simulator" title={texts.header.simulatorAbout}>
        {texts.header.simulator}
      </strong>
    );
  const hosts = [...new Set(services.map(({ host }) => host))];
  return (
    <strong class="host" title={hosts.join(', ')}>
      {hosts[0]}
      {hosts.length > 1 && ` +${hosts.length - 1}`}
    </strong>
  );
}

/** Whether the page is live, and a button that pauses it. */
function Stream() {
  const state = redis.value === 'unavailable' && streamState.value === 'live' ? 'redis' : streamState.value;
  return (
    <span class="stream">
      <span class={`state ${state}`}>{texts.header.stream[state]}</span>
      <button
        type="button"
        class="plain"
        aria-pressed={isPaused.value}
        onClick={() => (isPaused.value = !isPaused.value)}
      >
        {isPaused.value ? texts.header.resume : texts.header.pause}
      </button>
    </span>
  );
}

/** Why the page is old, and how old it is. */
function Age() {
  const stale = staleBecause.value;
  const now = useNow();
  if (stale === null) return null;
  return (
    <p class="stale" role="status">
      {texts.disabled[stale]} {dataAt.value > 0 && texts.header.age(spanText(now - dataAt.value))}
    </p>
  );
}
