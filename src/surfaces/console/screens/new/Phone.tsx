import { useMemo, useState } from 'preact/hooks';
import { segmentsOf } from '../../../../campaign/segments.js';
import { compileTemplate } from '../../../../campaign/template.js';
import { newTexts as texts } from '../../base/compose-texts.js';
import { PhoneNumber } from '../../parts/Time.js';
import type { Preview } from './draft.js';
import type { CsvRecord } from './records.js';

interface PhoneProps {
  readonly message: string;
  readonly sender: string;
  readonly columns: readonly string[];
  readonly toColumn: string;
  /** The rows of the beginning of the list. */
  readonly rows: readonly CsvRecord[];
  /** What the server has found for this message; null if it has not been asked. */
  readonly preview: Preview | null;
}

/** Units in the segments of a text, as in 3GPP TS 23.040. */
const ROOM = { 'GSM-7': [160, 153], 'UCS-2': [70, 67] } as const;
/** Rows that a reader can choose; the first and the longest are what matters. */
const CHOICES = 20;

interface Shown {
  readonly key: string;
  readonly label: string;
  readonly text: string;
  readonly to: string;
  readonly cost: string | null;
}

/** The text as the phone of a recipient will show it, with the segments that it takes. */
export function Phone(props: PhoneProps) {
  const { message, sender } = props;
  const [key, setKey] = useState('first');
  const messages = useMemo(() => messagesOf(props), Object.values(props));
  const shown = messages.find((each) => each.key === key) ?? messages[0];
  const measured = shown && segmentsOf(shown.text);
  const currency = props.preview?.cost?.currency ?? '';
  return (
    <section class="phone-preview stack" aria-labelledby="phone-title">
      <h2 id="phone-title">{texts.phone}</h2>
      <div class="phone">
        <p class="quiet">{props.preview?.sender ?? (sender || texts.sender)}</p>
        {shown ? (
          <p class="bubble">{shown.text}</p>
        ) : (
          <p class="quiet">{message.trim() === '' ? texts.phoneEmpty : texts.phoneNoRow}</p>
        )}
      </div>
      {shown && measured && (
        <>
          <p aria-live="polite">
            <strong>{texts.segments(measured.segments)}</strong>{' '}
            <span class="quiet">
              {texts.encodings(
                measured.encoding,
                measured.units,
                measured.segments === 1
                  ? ROOM[measured.encoding][0]
                  : measured.segments * ROOM[measured.encoding][1],
              )}
            </span>
            {shown.cost !== null && ` · ${shown.cost} ${currency}`}
          </p>
          {messages.length > 1 && (
            <label class="field">
              {texts.which}{' '}
              <select value={shown.key} onChange={(event) => setKey(event.currentTarget.value)}>
                {messages.map((each) => (
                  <option key={each.key} value={each.key}>
                    {each.label}
                  </option>
                ))}
              </select>
            </label>
          )}
          {shown.to !== '' && (
            <p class="quiet">
              <PhoneNumber number={shown.to} />
            </p>
          )}
        </>
      )}
    </section>
  );
}

/** The first and the longest message, and those of a few other rows. */
function messagesOf({ message, columns, toColumn, rows, preview }: PhoneProps): Shown[] {
  if (message.trim() === '') return [];
  const compiled = compileTemplate(message, columns);
  // Without a list, the text as it is shows how long it is about.
  if (rows.length === 0) return [{ key: 'first', label: texts.first, text: message, to: '', cost: null }];
  if (!compiled.ok) return [];
  const { template } = compiled;
  const price = preview?.cost?.segmentPrice;
  const at = columns.indexOf(toColumn);
  const usable = rows.filter(({ fields }) => template.missing(fields) === null);
  const rendered = usable.map((record): Shown & { readonly segments: number } => {
    const text = template.render(record.fields);
    return {
      key: `row-${record.row}`,
      label: texts.rowNumber(record.row),
      text,
      to: at === -1 ? '' : (record.fields[at] ?? ''),
      cost: null,
      segments: segmentsOf(text).segments,
    };
  });
  const [first] = rendered;
  if (first === undefined) return [];
  const isShared = template.placeholders.length === 0;
  const sample = preview?.samples[0];
  const start: Shown =
    sample === undefined
      ? { ...first, key: 'first', label: texts.first }
      : { key: 'first', label: texts.first, text: sample.text, to: sample.to, cost: sample.cost };
  if (isShared) return [{ ...start, cost: sample?.cost ?? price?.min ?? null }];
  const longest = preview?.longest;
  const ofHead = rendered.reduce((best, each) =>
    each.segments > best.segments || (each.segments === best.segments && each.text.length > best.text.length)
      ? each
      : best,
  );
  const long: Shown =
    longest == null
      ? { ...ofHead, key: 'longest', label: texts.longestHead }
      : { key: 'longest', label: texts.longest, text: longest.text, to: longest.to, cost: longest.cost };
  return [start, long, ...rendered.slice(1, CHOICES)];
}
