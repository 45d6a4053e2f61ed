import { useMemo } from 'preact/hooks';
import { newTexts as texts } from '../../base/compose-texts.js';
import { useNow } from '../../parts/Time.js';
import { EMPTY, startOf } from './draft.js';
import { Entry, optionsOf } from './Entry.js';
import type { Page } from './page.js';

const UTC = new Intl.DateTimeFormat('en-GB', {
  timeZone: 'UTC',
  weekday: 'short',
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
});

/** Now, or at a time in a zone. */
export function WhenStep(page: Page) {
  const { draft, change } = page;
  const now = useNow(10_000);
  const zones = useMemo(
    () => optionsOf([...new Set(['UTC', EMPTY.zone, ...Intl.supportedValuesOf('timeZone')])]),
    [],
  );
  const start = startOf(draft, now);
  const problem = 'problem' in start ? start.problem : undefined;
  const error = typeof problem === 'string' ? texts[problem] : problem?.reason;
  const utc = 'at' in start && start.at !== null ? texts.utc(UTC.format(start.at)) : '';
  return (
    <fieldset class="stack">
      <legend class="unseen">{texts.when}</legend>
      {[false, true].map((isLater) => (
        <label key={String(isLater)} class="row">
          <input
            type="radio"
            name="when"
            checked={draft.isLater === isLater}
            onChange={() => change({ isLater })}
          />
          {isLater ? texts.at : texts.now}
        </label>
      ))}
      {draft.isLater && (
        <div class="row">
          <Entry
            {...page}
            name="local"
            label={texts.local}
            type="datetime-local"
            about={utc}
            error={problem === 'noTime' ? undefined : error}
          />
          <Entry {...page} name="zone" label={texts.zone} options={zones} />
        </div>
      )}
    </fieldset>
  );
}
