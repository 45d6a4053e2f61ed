import { zoneName } from '../../../../base/zone-names.js';
import { newTexts as texts } from '../../base/compose-texts.js';
import { labelOf } from '../../base/texts.js';
import { OWN_ZONE, timeText } from '../../base/times.js';
import { useNow } from '../../parts/Time.js';
import { startOf } from './draft.js';
import { Entry } from './Entry.js';
import type { Page } from './page.js';

/** `New York (America)`: people look for a city. */
const cityOf = (zone: string): string => zone.replaceAll('_', ' ').replace(/^(.+)\/(.+)$/, '$2 ($1)');
const ZONES = [...new Set(['UTC', OWN_ZONE, ...Intl.supportedValuesOf('timeZone').map(zoneName)])]
  .map((value) => ({ value, label: cityOf(value) }))
  .sort((one, other) => one.label.localeCompare(other.label));

/** Now, or at a time in a zone. */
export function WhenStep(page: Page) {
  const { draft, change } = page;
  const now = useNow();
  const start = startOf(draft, now);
  const problem = 'problem' in start ? start.problem : undefined;
  const error = typeof problem === 'string' ? texts[problem] : problem?.reason;
  const at = 'at' in start ? start.at : null;
  const own = draft.zone === OWN_ZONE ? texts.utc : texts.own;
  const elsewhere = at === null ? '' : own(timeText(at, now, draft.zone === OWN_ZONE ? 'UTC' : null));
  return (
    <>
      <fieldset class="row">
        <legend class="unseen">{labelOf('when')}</legend>
        {[false, true].map((isLater) => (
          <label key={texts.starts(isLater)} class="row">
            <input
              type="radio"
              name="isLater"
              checked={draft.isLater === isLater}
              onChange={() => change({ isLater })}
            />
            {texts.starts(isLater)}
          </label>
        ))}
      </fieldset>
      {draft.isLater && (
        <div class="row">
          <Entry
            {...page}
            name="local"
            label={texts.local}
            type="datetime-local"
            about={elsewhere}
            error={problem === 'noTime' ? undefined : error}
          />
          <Entry {...page} name="zone" label={texts.zone} options={ZONES} />
        </div>
      )}
    </>
  );
}
