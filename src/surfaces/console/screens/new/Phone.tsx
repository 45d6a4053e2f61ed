import { useState } from 'preact/hooks';
import { segmentsOf } from '../../../../campaign/text/segments.js';
import { compileTemplate } from '../../../../campaign/text/template.js';
import { newTexts as texts } from '../../base/compose-texts.js';
import { labelOf } from '../../base/texts.js';
import { moneyText } from '../../base/times.js';
import { FormField, TEXT } from '../../parts/Form.js';
import { Section } from '../../parts/Section.js';
import { PhoneNumber } from '../../parts/Time.js';
import type { Page } from './page.js';

/** Units in a text of one segment, and in each segment of a longer one, as in 3GPP TS 23.040. */
const ROOM = { 'GSM-7': [160, 153], 'UCS-2': [70, 67] } as const;

/** The text as the phone of a recipient will show it, with the segments that it takes. */
export function Phone({ draft: { message, sender }, preview, isWhole }: Page) {
  const [chosen, setChosen] = useState('first');
  const { samples = [], longest = null, columns = [], cost = null } = preview ?? {};
  const sample = chosen === 'longest' ? longest : samples[0];
  const compiled = compileTemplate(message, columns);
  // Without a list, the text as it is shows how long it is about.
  const text = sample && compiled.ok ? compiled.template.render(sample.values) : message;
  const { segments, encoding, units } = segmentsOf(text);
  const [one, each] = ROOM[encoding];
  const options = [
    { value: 'first', label: texts.first },
    { value: 'longest', label: isWhole ? texts.longest : texts.longestHead },
  ];
  return (
    <Section class="phone-preview stack" title={texts.phone}>
      <div class="phone stack">
        <p class="quiet">{sender || preview?.sender || labelOf('sender')}</p>
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
        <FormField
          name="recipient"
          field={TEXT}
          shown={{ options, about: <PhoneNumber number={sample.to} /> }}
          value={chosen}
          onChange={(value) => setChosen(String(value))}
        />
      )}
    </Section>
  );
}
