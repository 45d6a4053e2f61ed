import { RECIPIENT_STATES, type RecipientState } from '../../../campaign/states/recipient.js';
import { useFilters } from '../base/filters.js';
import { type Counts, KIND_OF } from '../base/recipients.js';
import { labelOf, texts } from '../base/texts.js';
import { countText } from '../base/times.js';
import { Swatch } from './Bar.js';
import { Facts } from './Section.js';

/** The states of a recipient from left to right; below each step, where it may end instead. */
const STEPS: readonly { readonly state: RecipientState; readonly branches: readonly RecipientState[] }[] = [
  { state: 'planned', branches: ['lapsed', 'suppressed', 'cancelled'] },
  { state: 'sending', branches: ['rejected', 'unknown', 'abandoned'] },
  { state: 'deliveredToNetwork', branches: ['deliveryImpossible', 'unconfirmed'] },
  { state: 'deliveredToTerminal', branches: [] },
];

/** The recipient's states with how many recipients are in each. Choosing one filters the table of recipients. */
export function StateMachine({ counts }: { readonly counts: Counts }) {
  const [{ status }, change] = useFilters();
  const state = (name: RecipientState) => (
    <button
      type="button"
      aria-pressed={status === name}
      title={texts.recipients[name][1]}
      onClick={() => {
        change({ status: status === name ? '' : name });
        // What it filters is further below.
        if (status !== name) document.getElementById('list')?.scrollIntoView();
      }}
    >
      <Swatch kind={KIND_OF[name]} />
      <span>{texts.recipients[name][0]}</span>
      <strong class="end">{countText(counts[name])}</strong>
    </button>
  );
  return (
    <>
      <ol class="machine">
        {STEPS.map(({ state: step, branches }) => (
          <li key={step}>
            {state(step)}
            {branches.length > 0 && (
              <ul class="stack">
                {branches.map((branch) => (
                  <li key={branch}>{state(branch)}</li>
                ))}
              </ul>
            )}
          </li>
        ))}
      </ol>
      <details>
        <summary>{labelOf('whatTheseWordsMean')}</summary>
        <Facts facts={RECIPIENT_STATES.map((name) => texts.recipients[name])} />
      </details>
    </>
  );
}
