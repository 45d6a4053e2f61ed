import { useState } from 'preact/hooks';
import { newTexts as texts } from '../../base/compose-texts.js';
import { countText } from '../../base/times.js';
import { problemOf } from './check.js';
import { countryName } from './countries.js';
import { Entry, optionsOf } from './Entry.js';
import { choose } from './list.js';
import type { Page } from './page.js';

/** Chooses a list, and says which of its columns has the numbers. */
export function ListStep(page: Page) {
  const { list, setList, change, first, known } = page;
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
      setProblem(problemOf(error) ?? null);
    }
  };
  const rows = known.preview?.rows;
  const isWhole = known !== first || list?.isWhole === true;
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
          {list === null ? (
            <strong>{texts.choose}</strong>
          ) : (
            <>
              <strong>{list.file.name}</strong> <span class="quiet">{sizeText(list.file.size)}</span>
              {rows !== undefined && <> · {texts.rows(rows, isWhole)}</>}
            </>
          )}
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
      {(problem ?? first.error) !== null && (
        <p class="error" role="alert">
          {problem ?? first.error}
        </p>
      )}
      {list !== null && list.encoding !== null && <p class="quiet">{texts.encoding(list.encoding)}</p>}
      {list !== null && <Columns {...page} />}
    </>
  );
}

/** What the columns mean: found by the server, and changed by the person. */
function Columns(page: Page) {
  const { change, columns, known } = page;
  const { preview } = known;
  if (preview === null) return null;
  const national = preview.invalidGroups.find(({ code }) => code === 'noCountry');
  return (
    <>
      <div class="row">
        <Entry
          {...page}
          name="toColumn"
          value={preview.toColumn}
          label={texts.toColumn}
          options={optionsOf(columns)}
        />
        <Entry {...page} name="country" label={texts.country} about={texts.countryAbout} />
      </div>
      {national && (
        <p class="note warning" role="status">
          {texts.noCountry(national.count)}{' '}
          {national.countryColumn !== null && (
            <button type="button" onClick={() => change({ countryColumn: national.countryColumn ?? '' })}>
              {texts.useColumn(national.countryColumn)}
            </button>
          )}
          {national.country !== null && (
            <button type="button" onClick={() => change({ country: national.country ?? '' })}>
              {texts.useCountry(countryName(national.country))}
            </button>
          )}
        </p>
      )}
    </>
  );
}

const sizeText = (bytes: number): string =>
  bytes < 1_000_000 ? `${countText(Math.ceil(bytes / 1_000))} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
