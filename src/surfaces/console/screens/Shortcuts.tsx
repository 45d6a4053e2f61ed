import { useEffect, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso/router';
import { isPaused } from '../base/live.js';
import { isRevealed, reveal } from '../base/masked.js';
import { texts } from '../base/texts.js';
import { Dialog } from '../parts/CommandDialog.js';
import { Facts } from '../parts/Section.js';

const SEQUENCE_MS = 1_000;

/** Single keys for people who use the page all day. They do nothing while someone types, or with another key held. */
export function Shortcuts() {
  const { route } = useLocation();
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    const actions: Readonly<Record<keyof typeof texts.shortcuts.keys, () => void>> = {
      'g o': () => route('/console/'),
      'g c': () => route('/console/campaigns'),
      'g l': () => route('/console/lanes'),
      'g f': () => route('/console/find'),
      n: () => route('/console/new'),
      '/': () => document.querySelector<HTMLElement>('main :is(input, select, textarea)')?.focus(),
      p: () => (isPaused.value = !isPaused.value),
      r: () => reveal(!isRevealed.value),
      '?': () => setOpen(true),
    };
    let wentAt = Number.NEGATIVE_INFINITY;
    const onKey = (event: KeyboardEvent): void => {
      const isTyping = (event.target as HTMLElement).closest('input, select, textarea, dialog') !== null;
      if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
      const isSecond = performance.now() - wentAt < SEQUENCE_MS;
      wentAt = event.key === 'g' ? performance.now() : Number.NEGATIVE_INFINITY;
      const action = new Map(Object.entries(actions)).get(isSecond ? `g ${event.key}` : event.key);
      action?.();
      if (action) event.preventDefault();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [route]);
  if (!isOpen) return null;
  return (
    <Dialog title={texts.shortcuts.title} onClose={() => setOpen(false)}>
      <Facts
        facts={Object.entries(texts.shortcuts.keys).map(([key, about]) => [
          <kbd key={key}>{key}</kbd>,
          about,
        ])}
      />
      <form method="dialog">
        <button type="submit">{texts.close}</button>
      </form>
    </Dialog>
  );
}
