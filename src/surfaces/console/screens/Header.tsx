import type { Session } from 'built/surfaces/http/access/session.js';
import { useLocation } from 'preact-iso/router';
import { HOME } from '../base/api.js';
import { dropDraft } from '../base/kept-draft.js';
import { isPaused, lastTick, staleBecause, streamState } from '../base/live.js';
import { mayRun, session, signOut } from '../base/session.js';
import { labelOf, texts, wordsOf } from '../base/texts.js';
import { THEMES, type Theme, theme } from '../base/theme.js';
import { spanText } from '../base/times.js';
import { FormField, optionsOf, TEXT } from '../parts/Form.js';
import { ShowNumbers } from '../parts/NumberFilter.js';
import { useNow } from '../parts/Time.js';
import { SCREENS } from './screens.js';

/** On every page: which service it is about, whether the page is live, who uses it, and where else to go. */
export function Header() {
  const { path } = useLocation();
  const key = session.value;
  if (!key) return null;
  // The path of a location has no slash at its end, and that of the overview is the beginning of all others.
  const isAt = (href: string): boolean =>
    href === `${HOME}/` ? path === HOME : path === href || path.startsWith(`${href}/`);
  return (
    <header class="header row">
      <a class="skip" href="#main">
        {texts.skip}
      </a>
      <b>Volley</b>
      <Service {...key} />
      <button type="button" class="plain narrow" popovertarget="pages" aria-label={labelOf('menu')}>
        ☰ {labelOf('menu')}
      </button>
      <nav id="pages" class="panel" popover="auto" aria-label={labelOf('main')}>
        <ul class="row">
          {SCREENS.filter(({ needs, label }) => label && mayRun(needs)).map(({ path: href, label }) => (
            <li key={href}>
              <a href={href} aria-current={isAt(href) ? 'page' : undefined} onClick={closeMenu}>
                {label}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      {mayRun('followLive') && <Stream />}
      <button type="button" class="plain" popovertarget="menu" aria-label={texts.header.key(key.name)}>
        {key.name} ▾
      </button>
      <Menu />
    </header>
  );
}

/** The pages are a menu on a narrow screen only. */
const closeMenu = (): void => {
  const menu = document.getElementById('pages');
  if (menu?.matches(':popover-open')) menu.hidePopover();
};

/** What a person chooses for this page. */
function Menu() {
  return (
    <div id="menu" popover="auto" class="panel">
      <div class="stack">
        <ShowNumbers />
        <FormField
          name="theme"
          field={TEXT}
          shown={{ options: optionsOf(THEMES, (name) => texts.header.themes[name]) }}
          value={theme.value}
          onChange={(chosen) => (theme.value = chosen as Theme)}
        />
        <button
          type="button"
          onClick={() => {
            dropDraft();
            void signOut();
          }}
        >
          {labelOf('signOut')}
        </button>
      </div>
    </div>
  );
}

/** SIMULATOR, or the hosts to which messages really go. */
function Service({ simulator, services }: Session) {
  const { header } = texts;
  const hosts = [...new Set(services.flatMap(({ host }) => host ?? []))];
  return (
    <strong
      class={simulator ? 'badge warning' : 'badge'}
      title={simulator ? header.simulatorAbout : hosts.join(', ')}
    >
      {simulator ? header.simulator : hosts[0]}
      {!simulator && hosts.length > 1 && ` +${hosts.length - 1}`}
    </strong>
  );
}

/** Whether the page is live, how old it is if not, and a button that pauses it. */
function Stream() {
  const stale = staleBecause.value;
  const now = useNow();
  const { at } = lastTick.value;
  const state = stale === 'redis' ? 'redis' : streamState.value;
  return (
    <span class="row end">
      <span class={stale ? 'bad' : undefined} data-stream={state}>
        <span class={state === 'live' ? 'good' : undefined} aria-hidden="true">
          {stale ? '▲' : state === 'live' ? '●' : '○'}
        </span>{' '}
        {/* The second is as short as `live`, so that nothing moves when it is. */}
        {stale ? texts.header.lost : state === 'connecting' ? '…' : wordsOf(state)}
        {stale !== null && at > 0 && ` · ${texts.header.age(spanText(now - at))}`}
      </span>
      <button type="button" class="plain" onClick={() => (isPaused.value = !isPaused.value)}>
        {isPaused.value ? texts.header.resume : texts.header.pause}
      </button>
    </span>
  );
}
