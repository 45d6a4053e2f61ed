import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { newTexts as texts } from '../../base/compose-texts.js';
import { notify } from '../../parts/Announcer.js';
import { Entry, optionsOf } from './Entry.js';
import { segmentHint } from './hints.js';
import type { Page } from './page.js';

/** Sender and text, with the columns to insert, and what its characters cost. */
export function TextStep(page: Page) {
  const { draft, change, columns, lanes, messageProblem } = page;
  const message = useRef<HTMLTextAreaElement>(null);
  const insert = (column: string): void => {
    const area = message.current;
    if (area === null) return;
    area.focus();
    area.setRangeText(`{{${column}}}`, area.selectionStart, area.selectionEnd, 'end');
    change({ message: area.value });
  };
  return (
    <>
      <div class="row">
        <Entry {...page} name="sender" label={texts.sender} about={texts.senderAbout} />
        <Entry {...page} name="name" label={texts.name} />
        {lanes.length > 1 && (
          <Entry {...page} name="lane" value={lanes[0] ?? ''} label={texts.lane} options={optionsOf(lanes)} />
        )}
      </div>
      <div class="field">
        <label for="message">{texts.message}</label>
        <textarea
          id="message"
          ref={message}
          rows={4}
          maxLength={20_000}
          value={draft.message}
          aria-invalid={messageProblem !== null}
          aria-describedby="message-error message-hint"
          onInput={(event) => change({ message: event.currentTarget.value })}
        />
        <p id="message-error" class="error" role="status">
          {messageProblem}
        </p>
        <Hint {...page} />
        {columns.length > 0 && (
          <p class="row">
            <span class="quiet">{texts.insert}</span>
            {columns.map((column) => (
              <button key={column} type="button" class="plain" onClick={() => insert(column)}>
                {`{{${column}}}`}
              </button>
            ))}
          </p>
        )}
      </div>
    </>
  );
}

/** `This ’ costs 2,140 more segments: replace`. */
function Hint({ draft, change, columns, rows, whole, known, list }: Page) {
  const text = useSettled(draft.message);
  const hint = useMemo(() => {
    const { problems = [], repeats = [] } = known.preview ?? {};
    const isLeftOut = new Set([
      ...problems.map(({ line }) => line),
      ...(draft.duplicates === 'keep' ? [] : repeats.map(({ line }) => line)),
    ]);
    const sent = rows.filter(({ line }) => !isLeftOut.has(line)).map(({ fields }) => fields);
    return segmentHint(text, columns, rows.length === 0 ? [[]] : sent);
  }, [text, columns, rows, known.preview, draft.duplicates]);
  if (hint === null || text !== draft.message) return null;
  const { characters, simpler, extra } = hint;
  const preview = whole.isCurrent ? whole.preview : null;
  const recipients = preview?.recipientCount ?? (list?.isWhole ? hint.rows : 0);
  // Of a long list, only the beginning is here.
  const isExact = recipients === hint.rows || !/\{\{/.test(text);
  const count = recipients === 0 || hint.rows === 0 ? extra : Math.round((extra / hint.rows) * recipients);
  const price = preview?.cost?.segmentPrice;
  const money =
    price && price.min === price.max
      ? `${(Number(price.min) * count).toFixed(2)} ${preview?.cost?.currency}`
      : null;
  return (
    <p id="message-hint" class="note warning" role="status">
      {texts.hint(characters, texts.extra(count, isExact && recipients > 0, money))}.{' '}
      {simpler === null ? (
        texts.noSimpler
      ) : (
        <button
          type="button"
          onClick={() => {
            change({ message: simpler });
            notify(texts.replaced, 'good');
            document.getElementById('message')?.focus();
          }}
        >
          {texts.replace}
        </button>
      )}
    </p>
  );
}

/** A value that has not changed for a moment: counting segments while someone types would be in the way. */
function useSettled<Value>(value: Value): Value {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), 200);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}
