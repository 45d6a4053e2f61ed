import { effect, signal, untracked } from '@preact/signals';
import { type FeedEvent, isShown, recentEvents } from '../base/live.js';
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

const spoken = signal('');
const notices = signal<readonly Notice[]>([]);
let waiting: string | null = null;
let spokenAt = Number.NEGATIVE_INFINITY;
let timer: ReturnType<typeof setTimeout> | undefined;
let lastId = 0;

/** Says what has changed. Of several changes within ten seconds, only the last is said. */
export function announce(text: string): void {
  waiting = text;
  if (timer !== undefined) return;
  timer = setTimeout(
    () => {
      timer = undefined;
      spokenAt = performance.now();
      if (waiting !== null) spoken.value = waiting;
      waiting = null;
    },
    Math.max(0, spokenAt + EVERY_MS - performance.now()),
  );
}

/** Shows the outcome of a command for a while, or until it is closed. Errors stay. */
export function notify(text: string, tone: Tone = 'normal'): void {
  show({ text, tone, isSilent: false });
}

function show(notice: Omit<Notice, 'id'>): void {
  shownAt = performance.now();
  const id = ++lastId;
  notices.value = [...notices.value.slice(-3), { id, ...notice }];
  if (notice.tone !== 'bad') setTimeout(() => close(id), NOTICE_MS);
}

/** What happens within this time after a notice is what the notice says. */
const SAME_MS = 3_000;
let shownAt = Number.NEGATIVE_INFINITY;
const LOUD =
  /^(campaign\.(paused|resumed|cancelled|completed)|lane\.(held|stopped|backingOff|reopened)|request\.unknown)$/;

// What others do, and what happens: to all who listen, and as a notice to those who look at it.
effect(() => {
  const [newest] = recentEvents.value;
  untracked(() => newest !== undefined && LOUD.test(newest.type) && tell(newest));
});

function tell(event: FeedEvent): void {
  const text = eventText(event);
  announce(text);
  if (isShown(event) && performance.now() - shownAt > SAME_MS) show({ text, tone: 'normal', isSilent: true });
}

const close = (id: number): void => {
  notices.value = notices.value.filter((notice) => notice.id !== id);
};

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
