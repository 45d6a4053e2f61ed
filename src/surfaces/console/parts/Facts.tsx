import type { ComponentChildren } from 'preact';

interface FactsProps {
  readonly facts: readonly (readonly [term: ComponentChildren, about: ComponentChildren])[];
}

/** What something is, as a list of terms. Those without a value do not apply, and are left out. */
export function Facts({ facts }: FactsProps) {
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
