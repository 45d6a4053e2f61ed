import type { ComponentChildren, ComponentProps } from 'preact';
import { useEffect, useId } from 'preact/hooks';
import { HOME } from '../base/api.js';
import { mayRun } from '../base/session.js';
import { labelOf } from '../base/texts.js';

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

/** The way to a new campaign, for a key that may send. */
export const SendLink = () =>
  mayRun('uploadCampaign') && (
    <a class="button primary end" href={`${HOME}/new`}>
      {labelOf('sendMessages')}
    </a>
  );

/** The way to a campaign; without a name, its id is shown. */
export const CampaignLink = ({ id, name = id }: { readonly id: string; readonly name?: string }) => (
  <a href={`${HOME}/campaigns/${id}`}>{name}</a>
);

/** The way to a lane. */
export const LaneLink = ({ name }: { readonly name: string }) => (
  <a href={`${HOME}/lanes/${encodeURIComponent(name)}`}>{name}</a>
);

type SectionProps = Omit<ComponentProps<'section'>, 'title'> & { readonly title: ComponentChildren };

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
export function Alert({ text }: { readonly text: string | null | false | undefined }) {
  if (!text) return null;
  return (
    <p class="error" role="alert">
      {text}
    </p>
  );
}

/** What the service, or an error, says exactly; nothing without a text. */
export function Details({ text }: { readonly text: string | null }) {
  if (text === null) return null;
  return (
    <details class="quiet">
      <summary>{labelOf('details')}</summary>
      <code class="text">{text}</code>
    </details>
  );
}

/** Why something is as it is, in a sentence; what the service says exactly stands behind details. Nothing without either. */
export function Reason({ plain, details }: { readonly plain: string; readonly details: string | null }) {
  return plain === '' && details === null ? null : (
    <span>
      {plain} <Details text={details} />
    </span>
  );
}

type Fact = readonly [term: ComponentChildren, about: ComponentChildren];

/** What something is, as a list of terms. Those without a value do not apply, and are left out. */
export function Facts({ facts }: { readonly facts: readonly Fact[] }) {
  return (
    <dl class="facts">
      {facts
        .filter(([, about]) => about != null && about !== false && about !== '')
        .map(([term, about], at) => (
          <div key={typeof term === 'string' ? term : at}>
            <dt>{term}</dt>
            <dd>{about}</dd>
          </div>
        ))}
    </dl>
  );
}
