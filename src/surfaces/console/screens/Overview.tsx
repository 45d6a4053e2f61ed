import { overview } from '../base/live.js';
import { texts } from '../base/texts.js';

/** What needs attention first; then what runs. */
export function Overview() {
  const now = overview.value;
  return (
    <>
      <h1>{texts.overview.title}</h1>
      {now === null ? <p class="quiet">{texts.loading}</p> : <p>{now.running.length}</p>}
    </>
  );
}
