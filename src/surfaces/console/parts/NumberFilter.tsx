import { isRevealed } from '../base/masked.js';
import { mayRun } from '../base/session.js';
import { labelOf, texts } from '../base/texts.js';

/** Shows and hides the numbers of the page, beside those that it shows. */
export function ShowNumbers() {
  return (
    <button type="button" class="plain" onClick={() => (isRevealed.value = !isRevealed.value)}>
      {isRevealed.value ? texts.header.mask : texts.header.reveal}
    </button>
  );
}

/** The filter of a table by a number, which is no part of the address: that stays in the history. */
export function NumberFilter({ onChange }: { onChange(number: string): void }) {
  return (
    <>
      {mayRun('findNumber') && (
        <label class="field">
          {labelOf('number')}
          <input
            type="search"
            inputMode="tel"
            autoComplete="off"
            placeholder="+44…"
            onChange={(event) => onChange(event.currentTarget.value.trim())}
          />
        </label>
      )}
      <ShowNumbers />
    </>
  );
}
