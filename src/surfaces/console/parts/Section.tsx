import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

interface SectionProps {
  readonly title: ComponentChildren;
  readonly id?: string;
  readonly class?: string | undefined;
  readonly children: ComponentChildren;
}

/** A part of a screen with its heading. */
export function Section({ title, children, ...rest }: SectionProps) {
  const id = useId();
  return (
    <section aria-labelledby={id} {...rest}>
      <h2 id={id}>{title}</h2>
      {children}
    </section>
  );
}

/** What went wrong; nothing without a text. */
export function Alert({ text }: { readonly text: string | null | undefined }) {
  if (!text) return null;
  return (
    <p class="error" role="alert">
      {text}
    </p>
  );
}
