import { labelOf } from '../base/texts.js';

/** The filter of a table by a number, which is no part of the address: that stays in the history. */
export function NumberFilter({ onChange }: { onChange(number: string): void }) {
  return (
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
  );
}
