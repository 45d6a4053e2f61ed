import { zoneName } from '../../../../campaign/time/zone-names.js';
import { newTexts as texts } from '../../base/compose-texts.js';
import { labelOf } from '../../base/texts.js';
import { OWN_ZONE, timeText } from '../../base/times.js';
import { optionsOf } from '../../parts/Form.js';
import { useNow } from '../../parts/Time.js';
import { startOf } from './draft.js';
import { Entry } from './Entry.js';
import type { Page } from './page.js';

/** `New York (America)`: people look for a city. */
const cityOf = (zone: string): string => zone.replaceAll('_', ' ').replace(/^(.+)\/(.+)$/, '$2 ($1)');
const ZONES = Intl.supportedValuesOf('timeZone')
  .map(zoneName)
  .sort((one, other) => cityOf(one).localeCompare(cityOf(other)));

/** Now, or at a time in a zone. */
export function WhenStep(page: Page) {
  const { draft, change, preview } = page;
  const now = useNow();
  const start = startOf(draft, now);
  const error = 'problem' in start && draft.local !== '' ? start.problem : undefined;
  /** Those that matter most stand first. */
  const zones = [...new Set([OWN_ZONE, zoneName(preview?.laneZone ?? 'UTC'), 'UTC', ...ZONES])];
  const at = 'at' in start ? start.at : null;
  const own = draft.zone === OWN_ZONE ? texts.utc : texts.own;
  const elsewhere = at === null ? '' : own(timeText(at, now, draft.zone === OWN_ZONE ? 'UTC' : null));
  return (
    <>
      <fieldset class="row">
        <legend class="unseen">{labelOf('when')}</legend>
        {[false, true].map((isLater) => (
          <label key={texts.starts(isLater)} class="field check">
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
          <Entry {...page} name="local" type="datetime-local" about={elsewhere} error={error} />
          <Entry {...page} name="zone" options={optionsOf(zones, cityOf)} />
        </div>
      )}
    </>
  );
}
