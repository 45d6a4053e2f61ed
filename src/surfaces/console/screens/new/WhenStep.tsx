import { useMemo } from 'preact/hooks';
import { newTexts as texts } from '../../base/compose-texts.js';
import { useNow } from '../../parts/Time.js';
import { startOf } from './draft.js';
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
export function WhenStep({ draft, change }: Page) {
  const now = useNow(10_000);
  const zones = useMemo(() => ['UTC', ...Intl.supportedValuesOf('timeZone')], []);
  const start = startOf(draft, now);
  const problem = 'problem' in start ? start.problem : null;
  return (
    <fieldset class="when">
      <legend class="unseen">{texts.when}</legend>
      <label>
        <input
          type="radio"
          name="when"
          checked={!draft.isLater}
          onChange={() => change({ isLater: false })}
        />
        {texts.now}
      </label>
      <label>
        <input type="radio" name="when" checked={draft.isLater} onChange={() => change({ isLater: true })} />
        {texts.at}
      </label>
      {draft.isLater && (
        <div class="row">
          <div class="field">
            <label for="local">{texts.local}</label>
            <input
              id="local"
              type="datetime-local"
              value={draft.local}
              aria-invalid={problem !== null && problem !== 'noTime'}
              aria-describedby="local-utc"
              onInput={(event) => change({ local: event.currentTarget.value })}
            />
          </div>
          <div class="field">
            <label for="zone">{texts.zone}</label>
            <select
              id="zone"
              value={draft.zone}
              onChange={(event) => change({ zone: event.currentTarget.value })}
            >
              {zones.map((zone) => (
                <option key={zone}>{zone}</option>
              ))}
            </select>
          </div>
          <p
            id="local-utc"
            role="status"
            class={problem === null || problem === 'noTime' ? 'quiet' : 'error'}
          >
            {'at' in start
              ? start.at !== null && texts.utc(UTC.format(start.at))
              : typeof start.problem === 'string'
                ? texts[start.problem]
                : start.problem.reason}
          </p>
        </div>
      )}
    </fieldset>
  );
}
