import { useEffect, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso/router';
import { isPaused } from '../base/live.js';
import { isRevealed, reveal } from '../base/masked.js';
import { texts } from '../base/texts.js';
import { Dialog } from '../parts/CommandDialog.js';
import { Facts } from '../parts/Facts.js';

/** After `g`, the next key goes to a screen. */
const PLACES: Readonly<Record<string, string>> = {
  o: '/console/',
  c: '/console/campaigns',
  l: '/console/lanes',
  f: '/console/find',
};
const SEQUENCE_MS = 1_000;

/** Single keys for people who use the page all day. They do nothing while someone types, or with another key held. */
export function Shortcuts() {
  const { route } = useLocation();
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    let wentAt = Number.NEGATIVE_INFINITY;
    const onKey = (event: KeyboardEvent): void => {
      const target = event.target as HTMLElement;
      const isTyping = target.closest('input, select, textarea, dialog') !== null;
      if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
      const isSecond = performance.now() - wentAt < SEQUENCE_MS;
      wentAt = Number.NEGATIVE_INFINITY;
      const place = isSecond ? PLACES[event.key] : undefined;
      if (place !== undefined) route(place);
      else if (event.key === 'g') wentAt = performance.now();
      else if (event.key === 'n') route('/console/new');
      else if (event.key === 'p') isPaused.value = !isPaused.value;
      else if (event.key === 'r') reveal(!isRevealed.value);
      else if (event.key === '?') setOpen(true);
      else if (event.key === '/')
        document.querySelector<HTMLElement>('main input, main select, main textarea')?.focus();
      else return;
      event.preventDefault();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [route]);
  if (!isOpen) return null;
  return (
    <Dialog title={texts.shortcuts.title} onClose={() => setOpen(false)}>
      <Facts facts={texts.shortcuts.list.map(([keys, about]) => [<kbd key={keys}>{keys}</kbd>, about])} />
      <form method="dialog">
        <button type="submit">{texts.close}</button>
      </form>
    </Dialog>
  );
}
