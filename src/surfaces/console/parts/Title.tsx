import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';

/** The heading of a screen, which names the tab as well; beside it, a state and commands. */
export function Title({ text, children }: { readonly text: string; readonly children?: ComponentChildren }) {
  useEffect(() => {
    document.title = `${text} · Volley`;
  }, [text]);
  return (
    <header class="row">
      <h1>{text}</h1>
      {children}
    </header>
  );
}
