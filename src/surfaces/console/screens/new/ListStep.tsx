import { useState } from 'preact/hooks';
import { ApiError } from '../../base/api.js';
import { newTexts as texts } from '../../base/compose-texts.js';
import { countryOptions } from '../../base/countries.js';
import { problemOf } from '../../base/loaded.js';
import { labelOf } from '../../base/texts.js';
import { sizeText } from '../../base/times.js';
import { optionsOf } from '../../parts/Form.js';
import { Alert } from '../../parts/Section.js';
import { NO_COLUMN, nameOfFile, OF_LIST } from './draft.js';
import { Entry, UNCHOSEN } from './Entry.js';
import { choose, columnsOf } from './list.js';
import type { Page } from './page.js';

/** Chooses a list, and says which of its columns has the numbers. */
export function ListStep(page: Page) {
  const { draft, list, setList, change, first, preview, isWhole } = page;
  const sheets = preview?.sheets ?? [];
  /** The line that looks like the header, if another one is above it. */
  const header = first.thrown instanceof ApiError ? first.thrown.errors[0]?.line : null;
  const [problem, setProblem] = useState<string | null>(null);
  const [isOver, setOver] = useState(false);

  const take = async (file: File | undefined): Promise<void> => {
    if (file === undefined) return;
    const isOwn = draft.name !== '' && draft.name !== (list && nameOfFile(list.file.name));
    change({ ...OF_LIST, ...(!isOwn && { name: nameOfFile(file.name) }) });
    const chosen = await choose(file).catch(problemOf);
    setList(typeof chosen === 'string' ? null : chosen);
    setProblem(typeof chosen === 'string' ? chosen : null);
  };
  // Of a list that the server cannot read yet, such as one with several columns of numbers.
  const columns = optionsOf(preview?.columns ?? (list === null ? [] : columnsOf(list.head)));
  const unchosen = preview === null ? [UNCHOSEN] : [];
  const onDrag = (event: DragEvent): void => {
    event.preventDefault();
    setOver(event.type === 'dragover');
    if (event.type === 'drop') void take(event.dataTransfer?.files[0]);
  };
  return (
    <>
      <label
        class={`drop stack${isOver ? ' over' : ''}`}
        onDragOver={onDrag}
        onDragLeave={onDrag}
        onDrop={onDrag}
      >
        <span>
          <strong>{list?.file.name ?? texts.choose}</strong>{' '}
          {list && <span class="quiet">{sizeText(list.file.size)}</span>}
          {preview && ` · ${texts.rows(preview.rows, isWhole || typeof list?.head !== 'string')}`}
        </span>
        <span class="quiet">{list === null ? texts.listAbout : labelOf('chooseAnotherFile')}</span>
        <input
          class="unseen"
          type="file"
          accept=".xlsx,.xlsm,.csv,.txt,.tsv,text/csv,text/plain"
          onChange={(event) => {
            void take(event.currentTarget.files?.[0]);
            // The same file may be chosen again after it was corrected.
            event.currentTarget.value = '';
          }}
        />
      </label>
      <Alert text={problem ?? (first.error && texts.inPage(first.error))} />
      {header && (
        <p class="row">
          <button type="button" onClick={() => change({ headerLine: String(header) })}>
            {texts.useHeader(header)}
          </button>
        </p>
      )}
      {draft.headerLine && (
        <p class="row quiet">
          {texts.headerOn(draft.headerLine)}
          <button type="button" class="plain" onClick={() => change({ headerLine: '' })}>
            {labelOf('undo')}
          </button>
        </p>
      )}
      {list?.encoding && <p class="quiet">{texts.encoding(list.encoding)}</p>}
      {list && (
        <div class="row">
          {sheets.length > 1 && (
            <Entry {...page} name="sheet" value={preview?.sheet ?? ''} options={optionsOf(sheets)} />
          )}
          <Entry {...page} name="toColumn" value={preview?.toColumn} options={[...unchosen, ...columns]} />
          <Entry
            {...page}
            name="countryColumn"
            value={preview === null ? '' : (preview.countryColumn ?? NO_COLUMN)}
            about={texts.countryColumnAbout}
            options={[...unchosen, { value: NO_COLUMN, label: texts.noColumn }, ...columns]}
          />
          <Entry {...page} name="country" about={texts.countryAbout} options={countryOptions()} />
        </div>
      )}
    </>
  );
}
