import { useState } from 'preact/hooks';
import { newTexts as texts } from '../../base/compose-texts.js';
import { problemOf } from '../../base/loaded.js';
import { sizeText } from '../../base/times.js';
import { Alert } from '../../parts/Section.js';
import { Entry, optionsOf } from './Entry.js';
import { choose } from './list.js';
import type { Page } from './page.js';

/** Chooses a list, and says which of its columns has the numbers. */
export function ListStep(page: Page) {
  const { list, setList, change, first, preview, isWhole } = page;
  const [problem, setProblem] = useState<string | null>(null);
  const [isOver, setOver] = useState(false);

  const take = async (file: File | undefined): Promise<void> => {
    if (file === undefined) return;
    change({ toColumn: '', skipInvalid: false, again: false });
    const chosen = await choose(file).catch(problemOf);
    setList(typeof chosen === 'string' ? null : chosen);
    setProblem(typeof chosen === 'string' ? chosen : null);
  };
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
          {preview && ` · ${texts.rows(preview.rows, isWhole)}`}
        </span>
        <span class="quiet">{list === null ? texts.listAbout : texts.chooseAnother}</span>
        <input
          class="unseen"
          type="file"
          accept=".csv,.txt,.tsv,text/csv,text/plain"
          onChange={(event) => {
            void take(event.currentTarget.files?.[0]);
            // The same file may be chosen again after it was corrected.
            event.currentTarget.value = '';
          }}
        />
      </label>
      <Alert text={problem ?? first.error} />
      {list?.encoding && <p class="quiet">{texts.encoding(list.encoding)}</p>}
      {preview && (
        <div class="row">
          <Entry
            {...page}
            name="toColumn"
            value={preview.toColumn}
            label={texts.toColumn}
            options={optionsOf(preview.columns)}
          />
          <Entry {...page} name="country" label={texts.ofNational} about={texts.countryAbout} />
        </div>
      )}
    </>
  );
}
