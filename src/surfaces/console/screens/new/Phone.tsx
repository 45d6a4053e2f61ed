import { useState } from 'preact/hooks';
import { segmentsOf } from '../../../../campaign/segments.js';
import { compileTemplate } from '../../../../campaign/template.js';
import { newTexts as texts } from '../../base/compose-texts.js';
import { labels } from '../../base/labels.js';
import { moneyText } from '../../base/times.js';
import { Section } from '../../parts/Section.js';
import { PhoneNumber } from '../../parts/Time.js';
import type { Page } from './page.js';

/** Units in a text of one segment, and in each segment of a longer one, as in 3GPP TS 23.040. */
const ROOM = { 'GSM-7': [160, 153], 'UCS-2': [70, 67] } as const;

/** The text as the phone of a recipient will show it, with the segments that it takes. */
export function Phone({ draft: { message, sender }, preview, isWhole }: Page) {
  const [chosen, setChosen] = useState('0');
  const { samples = [], longest = null, columns = [], cost = null } = preview ?? {};
  const sample = chosen === 'longest' ? longest : samples[Number(chosen)];
  const compiled = compileTemplate(message, columns);
  // Without a list, the text as it is shows how long it is about.
  const text = sample && compiled.ok ? compiled.template.render(sample.values) : message;
  const { segments, encoding, units } = segmentsOf(text);
  const [one, each] = ROOM[encoding];
  return (
    <Section class="phone-preview stack" title={texts.phone}>
      <div class="phone">
        <p class="quiet">{sender || preview?.sender || labels.sender}</p>
        {message.trim() === '' ? <p class="quiet">{texts.phoneEmpty}</p> : <p class="bubble">{text}</p>}
      </div>
      {message.trim() !== '' && (
        <p aria-live="polite">
          <strong>{texts.segments(segments)}</strong>{' '}
          <span class="quiet">
            {texts.encodings(encoding, units, segments === 1 ? one : segments * each)}
            {sample?.text === text && sample.cost && ` · ${moneyText(sample.cost, cost?.currency ?? null)}`}
          </span>
        </p>
      )}
      {sample && (
        <label class="field">
          {texts.which}
          <select value={chosen} onChange={(event) => setChosen(event.currentTarget.value)}>
            {samples.map(({ line }, at) => (
              <option key={line} value={at}>
                {at === 0 ? texts.first : texts.line(line)}
              </option>
            ))}
            <option value="longest">{isWhole ? texts.longest : texts.longestHead}</option>
          </select>
        </label>
      )}
      {sample && (
        <p class="quiet">
          <PhoneNumber number={sample.to} />
        </p>
      )}
    </Section>
  );
}
