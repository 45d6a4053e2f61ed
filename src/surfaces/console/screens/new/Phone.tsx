import { useState } from 'preact/hooks';
import { ROOM, segmentsOf } from '../../../../campaign/text/segments.js';
import { compileTemplate } from '../../../../campaign/text/template.js';
import { newTexts as texts } from '../../base/compose-texts.js';
import { labelOf } from '../../base/texts.js';
import { moneyText } from '../../base/times.js';
import { Section } from '../../parts/Section.js';
import { Table } from '../../parts/Table.js';
import { PhoneNumber } from '../../parts/Time.js';
import type { Page } from './page.js';

/** The rows whose messages a person looks at. */
const ROWS = ['first', 'longest', 'dearest'] as const;

/** The text as the phone of a recipient will show it, and what it takes for the first row, the longest, and the one that costs the most. */
export function Phone({ draft: { message }, sender, preview, isWhole }: Page) {
  const [chosen, setChosen] = useState<(typeof ROWS)[number]>('first');
  const { samples = [], longest = null, dearest = null, columns = [], cost = null } = preview ?? {};
  const compiled = compileTemplate(message, columns);
  const isWritten = message.trim() !== '';
  const sampleOf = { first: samples[0] ?? null, longest, dearest };
  const rows = ROWS.flatMap((name) => {
    const sample = sampleOf[name];
    if (sample === null && name !== 'first') return [];
    // Without a list, the text as it is shows how long it is about.
    const text = sample && compiled.ok ? compiled.template.render(sample.values) : message;
    // What another text costs is known when it is checked.
    const money =
      sample?.text === text && sample.cost ? moneyText(sample.cost, cost?.currency ?? null) : null;
    return [{ name, to: sample?.to, text, money, ...segmentsOf(text) }];
  });
  const shown = rows.find(({ name }) => name === chosen) ?? rows[0];
  return (
    <Section class="phone-preview stack" title={labelOf('asItWillArrive')}>
      <div class="phone stack">
        <p class="quiet">{sender || labelOf('sender')}</p>
        {isWritten ? <p class="bubble">{shown?.text}</p> : <p class="quiet">{texts.phoneEmpty}</p>}
      </div>
      {isWritten && shown && (
        <p aria-live="polite">
          <strong title={`${texts.segments(shown.segments)}, ${shown.encoding}`}>
            {texts.charged(shown.segments)}
          </strong>{' '}
          <span class="quiet">{shown.to && <PhoneNumber number={shown.to} />}</span>
        </p>
      )}
      {isWritten && rows.length > 1 && (
        <Table
          caption={labelOf('whatMessagesTake')}
          rows={rows}
          rowKey={({ name }) => name}
          columns={[
            [
              labelOf('row'),
              ({ name }) => (
                <button
                  type="button"
                  class="plain"
                  aria-pressed={name === chosen}
                  onClick={() => setChosen(name)}
                >
                  {texts[isWhole || name === 'first' ? name : (`${name}Head` as const)]}
                </button>
              ),
            ],
            [labelOf('characters'), ({ units, ...row }) => texts.of(units, roomFor(row))],
            [labelOf('segments'), ({ segments }) => segments],
            [labelOf('price'), ({ money }) => money ?? '–'],
          ]}
        />
      )}
    </Section>
  );
}

function roomFor({ encoding, segments }: Pick<ReturnType<typeof segmentsOf>, 'encoding' | 'segments'>) {
  const [one, each] = ROOM[encoding];
  return segments <= 1 ? one : segments * each;
}
