import { senderWarnings } from '../../../../campaign/text/sender.js';
import { compileTemplate } from '../../../../campaign/text/template.js';
import { newTexts as texts } from '../../base/compose-texts.js';
import { csvLine, saveFile } from '../../base/csv-file.js';
import { maskedAsWritten } from '../../base/masked.js';
import { labelOf } from '../../base/texts.js';
import { percentText } from '../../base/times.js';
import { ShowNumbers } from '../../parts/NumberFilter.js';
import { Alert } from '../../parts/Section.js';
import { type Column, Table } from '../../parts/Table.js';
import type { Preview } from './check.js';
import { Entry } from './Entry.js';
import { SHORT_BYTES } from './list.js';
import type { Page } from './page.js';
import type { useUpload } from './upload.js';

const DUPLICATES = Object.entries(texts.duplicateChoices).map(([value, label]) => ({ value, label }));

/** What the server says about the list: its countries, and every invalid cell. */
export function CheckStep(page: Page) {
  const { list, whole, preview, missing } = page;
  const isOutdated = whole.preview !== null && !whole.isCurrent;
  const isBusy = whole.progress !== null;
  const isLong = list !== null && list.file.size > SHORT_BYTES;
  return (
    <>
      <p class="row">
        <button
          type="button"
          class={whole.preview === null || isOutdated ? 'primary' : undefined}
          disabled={missing !== null || isBusy}
          onClick={whole.run}
        >
          {labelOf(whole.preview === null ? 'checkTheWholeList' : 'checkAgain')}
        </button>
        <span class="quiet">
          {missing ?? texts[isBusy ? 'checking' : isOutdated ? 'outdated' : 'checkAbout']}
        </span>
      </p>
      {isLong && <Progress label={texts.uploading} {...whole} />}
      <Alert text={whole.failure && texts.inPage(whole.failure.text)} />
      {list !== null && preview !== null && (
        <>
          <p>{texts.countries(preview.countries)}</p>
          <Problems {...page} preview={preview} />
          {preview.invalid > 0 && preview.invalid < preview.rows && <Entry {...page} name="skipInvalid" />}
          {preview.differentTexts > 0 && <Different {...page} preview={preview} />}
          {/* The last ones stay until there are others, so that nothing below them moves. */}
          {notesOf(whole.preview).map((note) => (
            <p key={note} class={whole.isCurrent ? 'note' : 'note quiet'}>
              {texts.inPage(note)}
            </p>
          ))}
        </>
      )}
    </>
  );
}

/** What the server has noted, but for what stands beside the sender, or above. */
const notesOf = (preview: Preview | null): readonly string[] =>
  preview?.warnings.filter(
    (note) => !senderWarnings(preview.sender).includes(note) && !note.includes('again with another text'),
  ) ?? [];

/** Rows with the number of an earlier one and another text: a person has to see who would get which. */
function Different(page: Page & { readonly preview: Preview }) {
  const { draft, preview, records } = page;
  const { columns, differentTexts, repeats } = preview;
  const compiled = compileTemplate(draft.message, columns);
  const textOf = (line: number): string => {
    const { row = line, fields = null } = records.get(line) ?? {};
    return texts.inRow(row, fields && compiled.ok ? compiled.template.render(fields) : null);
  };
  return (
    <>
      <div class="note warning">
        <strong>{texts.different(differentTexts)}</strong>
        <ul>
          {repeats
            .filter(({ text }) => text === 'different')
            .map(({ line, firstLine }) => (
              <li key={line}>{`${textOf(firstLine)} · ${textOf(line)}`}</li>
            ))}
        </ul>
      </div>
      <Entry {...page} name="duplicates" options={DUPLICATES} />
    </>
  );
}

type Uploading = Pick<ReturnType<typeof useUpload>, 'progress' | 'cancel'>;

/** How much of a list has been sent. When all of it has, the server still reads it. */
export function Progress({ label, progress, cancel }: Uploading & { readonly label: string }) {
  if (progress === null) return null;
  return (
    <p class="row">
      <label>
        {progress < 1 ? `${label}: ${percentText(progress, 1)}` : `${texts.reading} …`}
        <progress max={1} {...(progress < 1 && { value: progress })} />
      </label>
      <button type="button" onClick={cancel}>
        {labelOf('cancel')}
      </button>
    </p>
  );
}

type Problem = Preview['problems'][number];

/** More rows are listed only if the person wants to see them. */
const FEW = 20;

/** Every invalid cell, in the row in which a spreadsheet shows it. */
function Problems({ list, preview, isWhole }: Page & { readonly preview: Preview }) {
  const { problems, invalid, invalidGroups, columns, toColumn } = preview;
  if (invalid === 0) return isWhole ? <p class="good">✓ {texts.none}</p> : null;
  /** A value of a row; marked if it is at fault, or the whole row is. */
  const cellOf = (name: string) => (problem: Problem) => {
    const isBad = problem.column === name;
    const value = problem.values?.[columns.indexOf(name)] ?? (isBad ? problem.value : '') ?? '';
    const text = name === toColumn ? maskedAsWritten(value) : value;
    return isBad || problem.column === null ? <mark>✗ {text || '—'}</mark> : text;
  };
  return (
    <>
      {/* The commonest reasons first. */}
      <ul class="groups stack">
        {invalidGroups
          .toSorted((one, other) => other.count - one.count)
          .map((group) => (
            <li key={`${group.code} ${group.column}`}>
              <strong>{texts.group(group)}</strong>{' '}
              {group.column !== null && <span class="quiet">{texts.inColumn(group.column)}</span>}
            </li>
          ))}
      </ul>
      <details open={invalid <= FEW}>
        <summary>{labelOf('allInvalidRows')}</summary>
        <div class="stack">
          <Table
            caption={texts.problems(invalid)}
            range={problems.length < invalid ? texts.problemsShown(problems.length) : ''}
            rows={problems}
            columns={[
              [labelOf('row'), ({ row }) => row],
              ...columnsToShow(preview).map((title): Column<Problem> => [title, cellOf(title)]),
              [labelOf('whatIsWrong'), masked],
            ]}
          />
          <p class="row">
            <button type="button" onClick={() => download(list?.file.name ?? '', preview)}>
              {problems.length < invalid ? texts.downloadFirst(problems.length) : texts.download}
            </button>
            <ShowNumbers />
          </p>
        </div>
      </details>
    </>
  );
}

/** What is wrong, without numbers until the person wants to see them. */
const masked = ({ column, message }: Problem): string =>
  texts
    .inPage(column === null ? message : message.replace(/^It /, `“${column}” `))
    .replace(/"[^"]*"/g, maskedAsWritten);

/** Columns that a page has room for: the number, those at fault, and then the others. */
function columnsToShow({ columns, toColumn, problems }: Preview): readonly string[] {
  const important = new Set([toColumn, ...problems.flatMap(({ column }) => column ?? [])]);
  const others = columns.filter((column) => !important.has(column)).slice(0, Math.max(0, 4 - important.size));
  return columns.filter((column) => important.has(column) || others.includes(column));
}

/** Saves the invalid rows with their reasons, to be corrected and sent as a list of their own. */
function download(name: string, { problems, columns }: Preview): void {
  const lines = problems.map(({ row, message, values }) =>
    csvLine([String(row), message, ...(values ?? [])]),
  );
  saveFile(name.replace(/(\.\w+)?$/, '.invalid.csv'), [csvLine(['row', 'problem', ...columns]), ...lines]);
}
