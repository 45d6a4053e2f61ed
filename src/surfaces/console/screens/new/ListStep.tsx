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

  const take = async (file: File | null | undefined): Promise<void> => {
    if (!file) return;
    setProblem(null);
    change({ toColumn: '', countryColumn: '', skipInvalid: false, again: false });
    try {
      setList(await choose(file));
    } catch (error) {
      setList(null);
      setProblem(problemOf(error));
    }
  };
  return (
    <>
      <label
        class={`drop${isOver ? ' over' : ''}`}
        onDragOver={(event) => {
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={(event) => {
          event.preventDefault();
          setOver(false);
          void take(event.dataTransfer?.files[0]);
        }}
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
      {preview !== null && <Columns {...page} preview={preview} />}
    </>
  );
}

/** What the columns mean: found by the server, and changed by the person. */
function Columns({ preview, ...page }: Page & { readonly preview: NonNullable<Page['preview']> }) {
  const { columns, toColumn, invalidGroups } = preview;
  const national = invalidGroups.find(({ code }) => code === 'noCountry');
  const { count = 0, country = null, countryColumn = null } = national ?? {};
  return (
    <>
      <div class="row">
        <Entry
          {...page}
          name="toColumn"
          value={toColumn}
          label={texts.toColumn}
          options={optionsOf(columns)}
        />
        <Entry {...page} name="country" label={texts.ofNational} about={texts.countryAbout} />
      </div>
      {national && (
        <p class="note warning" role="status">
          {texts.noCountry(count)}{' '}
          {countryColumn !== null && (
            <button type="button" onClick={() => page.change({ countryColumn })}>
              {texts.useColumn(countryColumn)}
            </button>
          )}
          {country !== null && (
            <button type="button" onClick={() => page.change({ country })}>
              {texts.useCountry(country)}
            </button>
          )}
        </p>
      )}
    </>
  );
}
