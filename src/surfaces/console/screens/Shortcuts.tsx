import { useEffect, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso/router';
import { HOME } from '../base/api.js';
import { isPaused } from '../base/live.js';
import { isRevealed } from '../base/masked.js';
import { labelOf, texts } from '../base/texts.js';
import { Dialog } from '../parts/CommandDialog.js';
import { Facts } from '../parts/Section.js';

const SEQUENCE_MS = 1_000;

const words = texts.shortcuts;
const focusField = (): void =>
  document.querySelector<HTMLElement>('main :is(input, select, textarea)')?.focus();

/** Single keys for people who use the page all day. They do nothing while someone types, or with another key held. */
export function Shortcuts() {
  const { route } = useLocation();
  const [isOpen, setOpen] = useState(false);
  const actions: readonly (readonly [key: string, about: string, action: () => void])[] = [
    ['g o', labelOf('overview'), () => route(`${HOME}/`)],
    ['g c', labelOf('campaigns'), () => route(`${HOME}/campaigns`)],
    ['g l', labelOf('lanes'), () => route(`${HOME}/lanes`)],
    ['g f', labelOf('find'), () => route(`${HOME}/find`)],
    ['n', labelOf('new'), () => route(`${HOME}/new`)],
    ['/', words.field, focusField],
    ['p', words.pause, () => (isPaused.value = !isPaused.value)],
    ['r', words.reveal, () => (isRevealed.value = !isRevealed.value)],
    ['?', labelOf('shortcuts'), () => setOpen(true)],
  ];
  useEffect(() => {
    let wentAt = Number.NEGATIVE_INFINITY;
    const onKey = (event: KeyboardEvent): void => {
      const isTyping = (event.target as HTMLElement).closest('input, select, textarea, dialog') !== null;
      if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
      const isSecond = performance.now() - wentAt < SEQUENCE_MS;
      wentAt = event.key === 'g' ? performance.now() : Number.NEGATIVE_INFINITY;
      const pressed = isSecond ? `g ${event.key}` : event.key;
      const [, , action] = actions.find(([key]) => key === pressed) ?? [];
      action?.();
      if (action) event.preventDefault();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [route]);
  if (!isOpen) return null;
  return (
    <Dialog title={labelOf('shortcuts')} onClose={() => setOpen(false)}>
      <Facts facts={actions.map(([key, about]) => [<kbd key={key}>{key}</kbd>, about])} />
      <form method="dialog">
        <button type="submit">{labelOf('close')}</button>
      </form>
    </Dialog>
  );
}
