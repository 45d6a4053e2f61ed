import { useEffect, useState } from 'preact/hooks';
import { newTexts as texts } from '../../base/compose-texts.js';
import { labels } from '../../base/labels.js';
import { isRevealed, reveal } from '../../base/masked.js';
import { countText } from '../../base/times.js';
import { FormField, TEXT } from '../../parts/Form.js';
import { type Column, Table } from '../../parts/Table.js';
import { countryName } from './countries.js';
import type { Draft, Preview, Problem } from './draft.js';
import { recordsAt } from './list.js';
import type { Page } from './page.js';
import { type CsvRecord, csvLine } from './records.js';

const DUPLICATES = Object.entries(texts.duplicateChoices).map(([value, label]) => ({ value, label }));

/** What the server says about the list: its countries, and every invalid cell. */
export function CheckStep(page: Page) {
  const { list, draft, change, whole, known, messageProblem } = page;
  const missing =
    list === null ? texts.needsList : draft.message.trim() === '' ? texts.needsText : messageProblem;
  const { preview } = known;
  return (
    <>
      <p class="row">
        <button
          type="button"
          class={whole.isCurrent && whole.preview ? undefined : 'primary'}
          disabled={missing !== null || whole.progress !== null}
          onClick={whole.run}
        >
          {whole.preview === null ? texts.checkNow : texts.checkAgain}
        </button>
        <span class="quiet">
          {missing ?? (whole.preview !== null && !whole.isCurrent ? texts.outdated : texts.checkAbout)}
        </span>
      </p>
      {whole.progress !== null && (
        <Progress label={texts.checking} part={whole.progress} onCancel={whole.cancel} />
      )}
      {whole.error !== null && (
        <p class="error" role="alert">
          {whole.error}
        </p>
      )}
      {preview !== null && list !== null && (
        <>
          <Countries {...preview} />
          <Problems {...page} preview={preview} />
          {preview.invalid > 0 && preview.invalid < preview.rows && (
            <label class="row">
              <input
                type="checkbox"
                checked={draft.skipInvalid}
                onChange={(event) => change({ skipInvalid: event.currentTarget.checked })}
              />
              {texts.skipInvalid}
            </label>
          )}
          {preview.differentTexts > 0 && (
            <FormField
              name="duplicates"
              field={TEXT}
              shown={{ label: texts.duplicates, options: DUPLICATES }}
              value={draft.duplicates}
              onChange={(value) => change({ duplicates: value as Draft['duplicates'] })}
            />
          )}
          {known === whole && preview.warnings.length > 0 && (
            <div class="note">
              <h3>{texts.warnings}</h3>
              <ul>
                {preview.warnings.map((warning) => (
                  <li key={warning}>{texts.inPage(warning)}</li>
                ))}
              </ul>
            </div>
          )}
        </>
      )}
    </>
  );
}

interface ProgressProps {
  readonly label: string;
  readonly part: number;
  onCancel(): void;
}

/** How much of a list has been sent. When all of it has, the server still reads it. */
export function Progress({ label, part, onCancel }: ProgressProps) {
  return (
    <p class="row upload">
      <label>
        {part < 1 ? `${label}: ${countText(Math.floor(part * 100))} %` : `${texts.reading} …`}
        <progress max={1} {...(part < 1 && { value: part })} />
      </label>
      <button type="button" onClick={onCancel}>
        {texts.cancel}
      </button>
    </p>
  );
}

function Countries({ countries }: Pick<Preview, 'countries'>) {
  if (countries.length === 0) return null;
  return (
    <p>
      <span class="quiet">{texts.countries}:</span>{' '}
      {countries
        .map(
          ({ country, callingCode, numberCount }) =>
            `${country === null ? texts.unknownCountry : countryName(country)} (+${callingCode}) ${countText(numberCount)}`,
        )
        .join(' · ')}
    </p>
  );
}

/** Problems that are shown at once. */
const STEP = 50;

/** Every invalid cell, in the row in which a spreadsheet shows it. */
function Problems({ list, delimiter, columns, preview, known, first }: Page & { readonly preview: Preview }) {
  const [records, setRecords] = useState<ReadonlyMap<number, CsvRecord>>(new Map());
  const [most, setMost] = useState(STEP);
  const { problems, invalid, toColumn } = preview;
  useEffect(() => {
    setMost(STEP);
    if (list === null || problems.length === 0) return setRecords(new Map());
    const controller = new AbortController();
    const lines = problems.map(({ line }) => line);
    recordsAt(list, lines, delimiter, controller.signal)
      .then(setRecords)
      // Without its rows, a problem still has its line, its column, and its value.
      .catch(() => {});
    return () => controller.abort();
  }, [list, problems, delimiter]);
  if (invalid === 0) return <p class="good">✓ {known === first && !list?.isWhole ? '' : texts.none}</p>;
  const shown = columnsToShow(columns, preview);
  /** A value of a row; marked if it is at fault, or the whole row is. */
  const cellOf = (name: string) => (problem: Problem) => {
    const isBad = problem.column === name;
    const value = records.get(problem.line)?.fields[columns.indexOf(name)] ?? (isBad ? problem.value : '');
    const text = name === toColumn ? hidden(value ?? '') : (value ?? '');
    return isBad || problem.column === null ? (
      <mark>
        ✗{'\u00a0'}
        {text || '—'}
      </mark>
    ) : (
      text
    );
  };
  return (
    <>
      <Table
        caption={texts.problems(invalid)}
        range={texts.problemsShown(Math.min(most, problems.length), invalid)}
        rows={problems.slice(0, most)}
        rowKey={({ line }) => line}
        columns={[
          [labels.row, ({ line }) => records.get(line)?.row ?? line],
          ...shown.map((title): Column<Problem> => [title, cellOf(title)]),
          [texts.reason, ({ message }) => message.replace(/"[^"]*"/g, hidden)],
        ]}
      />
      <p class="row">
        {most < problems.length && (
          <button type="button" onClick={() => setMost(most + STEP)}>
            {texts.showMore}
          </button>
        )}
        <button
          type="button"
          onClick={() => list && download(list.file.name, preview, columns, records, delimiter)}
        >
          {problems.length < invalid ? texts.downloadFirst(problems.length) : texts.download}
        </button>
        {!isRevealed.value && (
          <button type="button" class="plain" onClick={() => reveal(true)}>
            {texts.show}
          </button>
        )}
      </p>
    </>
  );
}

const SHOWN_DIGITS = { start: 4, end: 3 } as const;

/** What stands in place of a number, as it is written, without the digits that make it one. */
function hidden(text: string): string {
  const count = text.replace(/\D/g, '').length;
  if (isRevealed.value || count < 8) return text;
  let at = 0;
  return text.replace(/\d/g, (digit) =>
    at++ < SHOWN_DIGITS.start || at > count - SHOWN_DIGITS.end ? digit : '•',
  );
}

/** Columns that a page has room for: the number, those at fault, and then the others. */
function columnsToShow(columns: readonly string[], { toColumn, problems }: Preview): readonly string[] {
  const atFault = new Set(problems.map(({ column }) => column));
  const important = columns.filter((column) => column === toColumn || atFault.has(column));
  const chosen = new Set([...important, ...columns].slice(0, Math.max(important.length, 4)));
  return columns.filter((column) => chosen.has(column));
}

/** Saves the invalid rows with their reasons, to be corrected and sent as a list of their own. */
function download(
  name: string,
  { problems }: Preview,
  columns: readonly string[],
  records: ReadonlyMap<number, CsvRecord>,
  delimiter: string,
): void {
  const lines = problems.map(({ line, message }) =>
    csvLine(
      [String(records.get(line)?.row ?? line), message, ...(records.get(line)?.fields ?? [])],
      delimiter,
    ),
  );
  // Excel takes a file for UTF-8 because of its byte order mark.
  const blob = new Blob(['\ufeff', csvLine(['row', 'problem', ...columns], delimiter), ...lines], {
    type: 'text/csv',
  });
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name.replace(/(\.\w+)?$/, '.invalid.csv');
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
