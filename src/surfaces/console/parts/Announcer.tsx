import { effect, signal, untracked } from '@preact/signals';
import { isShown, recentEvents } from '../base/live.js';
import { eventText } from '../base/texts.js';

/*
 * What the page says by itself: an outcome of a command at once, as a notice; changes of what is shown at most every ten seconds, and only
 * to readers who do not see them.
 */

export type Tone = 'normal' | 'good' | 'warning' | 'bad';

interface Notice {
  readonly id: number;
  readonly text: string;
  readonly tone: Tone;
  /** Whether it is announced in another way, and not as soon as it is shown. */
  readonly isSilent: boolean;
}

const EVERY_MS = 10_000;
const NOTICE_MS = 12_000;
/** What happens within this time after a notice is what the notice says. */
const SAME_MS = 3_000;

const spoken = signal('');
const notices = signal<readonly Notice[]>([]);
let waiting = '';
let spokenAt = Number.NEGATIVE_INFINITY;
let shownAt = Number.NEGATIVE_INFINITY;
let timer: ReturnType<typeof setTimeout> | undefined;
let lastId = 0;

/** Says what has changed. Of several changes within ten seconds, only the last is said. */
function announce(text: string): void {
  waiting = text;
  const say = (): void => {
    timer = undefined;
    spokenAt = performance.now();
    spoken.value = waiting;
  };
  if (timer === undefined) timer = setTimeout(say, Math.max(0, spokenAt + EVERY_MS - performance.now()));
}

/** Shows the outcome of a command for a while, or until it is closed. Errors stay. */
export function notify(text: string, tone: Tone = 'normal', isSilent = false): void {
  shownAt = performance.now();
  const id = ++lastId;
  notices.value = [...notices.value.slice(-3), { id, text, tone, isSilent }];
  if (tone !== 'bad') setTimeout(() => close(id), NOTICE_MS);
}

const close = (id: number): void => {
  notices.value = notices.value.filter((notice) => notice.id !== id);
};

const LOUD =
  /^(campaign\.(paused|resumed|cancelled|completed)|lane\.(held|stopped|backingOff|reopened)|request\.unknown)$/;

// What others do, and what happens: to all who listen, and as a notice to those who look at it.
effect(() => {
  const [newest] = recentEvents.value;
  if (newest === undefined || !LOUD.test(newest.type)) return;
  untracked(() => {
    announce(eventText(newest));
    if (isShown(newest) && performance.now() - shownAt > SAME_MS) notify(eventText(newest), 'normal', true);
  });
});

/** Once on every page. */
export function Announcer() {
  const shown = (isSilent: boolean) =>
    notices.value
      .filter((notice) => notice.isSilent === isSilent)
      .map(({ id, text, tone }) => (
        <p key={id} class={`panel row ${tone}`}>
          {text}
          <button type="button" class="plain end" aria-label="Close this notice" onClick={() => close(id)}>
            ×
          </button>
        </p>
      ));
  return (
    <>
      <p class="unseen" aria-live="polite">
        {spoken.value}
      </p>
      <div class="notices stack">
        {shown(true)}
        <div class="stack" role="status">
          {shown(false)}
        </div>
      </div>
    </>
  );
}
