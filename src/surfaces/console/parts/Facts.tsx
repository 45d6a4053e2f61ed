import type { ComponentChildren } from 'preact';

/** What something is, as a list of terms. Those that do not apply are left out. */
export function Facts({
  facts,
}: {
  readonly facts: readonly (readonly [term: string, about: ComponentChildren] | false)[];
}) {
  return (
    <dl class="facts">
      {facts.flatMap((fact) =>
        fact === false
          ? []
          : [
              <div key={fact[0]}>
                <dt>{fact[0]}</dt>
                <dd>{fact[1]}</dd>
              </div>,
            ],
      )}
    </dl>
  );
}
