import { effect, signal, untracked } from '@preact/signals';
import { isShown, recentEvents } from '../base/live.js';
import { eventText } from '../base/texts.js';

export type Tone = 'normal' | 'good' | 'warning' | 'bad';

interface Notice {
  readonly id: number;
  readonly text: string;
  readonly tone: Tone;
}

const EVERY_MS = 10_000;
const NOTICE_MS = 12_000;
/** What happens within this time after a notice is what the notice says. */
const SAME_MS = 3_000;

const spoken = signal({ text: '', at: Number.NEGATIVE_INFINITY });
const notices = signal<readonly Notice[]>([]);
let shownAt = Number.NEGATIVE_INFINITY;
let timer: ReturnType<typeof setTimeout> | undefined;
let lastId = 0;

const say = (text: string): void => {
  spoken.value = { text, at: performance.now() };
};

/** Says what has changed. Of several changes within ten seconds, only the last is said. */
function announce(text: string): void {
  clearTimeout(timer);
  timer = setTimeout(say, Math.max(0, spoken.peek().at + EVERY_MS - performance.now()), text);
}

/** Shows a notice for a while, or until it is closed. Errors stay. */
function show(text: string, tone: Tone): void {
  shownAt = performance.now();
  const id = ++lastId;
  notices.value = [...notices.value.slice(-3), { id, text, tone }];
  if (tone !== 'bad') setTimeout(() => close(id), NOTICE_MS);
}

/** Shows and says the outcome of a command. */
export function notify(text: string, tone: Tone): void {
  show(text, tone);
  say(text);
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
    if (isShown(newest) && performance.now() - shownAt > SAME_MS) show(eventText(newest), 'normal');
  });
});

/** Once on every page. */
export function Announcer() {
  const { text: words, at } = spoken.value;
  return (
    <>
      <div class="unseen" aria-live="polite">
        <p key={at}>{words}</p>
      </div>
      <div class="notices stack">
        {notices.value.map(({ id, text, tone }) => (
          <p key={id} class={`panel row ${tone}`}>
            {text}
            <button type="button" class="plain end" aria-label="Close this notice" onClick={() => close(id)}>
              ×
            </button>
          </p>
        ))}
      </div>
    </>
  );
}
