import { expect, test } from 'vitest';
import { REPORTED_STATUSES } from '../../../src/campaign/states/reported-status.js';
import { RESOLUTIONS } from '../../../src/campaign/states/resolutions.js';
import { INVALID_CODES } from '../../../src/campaign/views/list-views.js';
import type { Preview } from '../../../src/campaign/views/preview-views.js';
import { newTexts } from '../../../src/surfaces/console/base/compose-texts.js';
import { listTexts } from '../../../src/surfaces/console/base/list-texts.js';
import { eventText, labelOf, stateText, texts } from '../../../src/surfaces/console/base/texts.js';

/*
 * People who read the console send messages. They need not know the words of those who run Volley; reporting/waiting.test.ts checks the
 * sentences that the server gives.
 */

const FOREIGN =
  /\blanes?\b|\bsettled\b|\b429\b|\bback(s|ing) off\b|\babandon|\bunconfirmed\b|\blapsed\b|\bimpossible\b|\brejected\b|\bplanned\b|\bunknown\b|\boutcomes?\b|\bresolve|countryColumn|[A-Z]+_[A-Z_]+/i;

type Text = readonly [path: string, text: string | ((...values: never[]) => unknown)];

/** Every text of a catalogue, and every function that makes one. */
function textsIn(value: unknown, path: string): Text[] {
  if (typeof value === 'string' || typeof value === 'function') return [[path, value as Text[1]]];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => textsIn(member, `${path}.${name}`));
}
const ALL = Object.entries({ texts, listTexts, newTexts }).flatMap(([name, texts]) => textsIn(texts, name));

/** What a function may write: its literals, without what is filled in. */
const literalsOf = (make: object): string =>
  [...String(make).matchAll(/`[^`]*`|'[^'\n]*'|"[^"\n]*"/g)].join(' ').replace(/\$\{[^}]*\}?/g, ' ');

test('No text has a word that only developers know', () => {
  expect(ALL.length).toBeGreaterThan(150);
  // What the server says, in the words of the page.
  const written = ALL.filter(([path]) => path !== 'newTexts.inPage');
  const found = written.filter(([, text]) =>
    FOREIGN.test(typeof text === 'string' ? text : literalsOf(text)),
  );
  expect(found.map(([path]) => path)).toEqual([]);
});

test('One of something is no plural', () => {
  const found = ALL.flatMap(([path, make]) => {
    if (typeof make === 'string') return [];
    try {
      const text = String(make(...(Array(9).fill(1) as never[])));
      return /(?<!of )\b1 (more )?\w{2,}s\b(?! minute)/.test(text) ? [`${path}: ${text}`] : [];
    } catch {
      // It writes about something that is no number.
      return [];
    }
  });
  expect(found).toEqual([]);
});

test('What the server says of a list is in the words of the page', () => {
  const group = { column: 'name', count: 2, lines: [], examples: [], country: null, countryColumn: null };
  const groups = INVALID_CODES.map((code) => newTexts.group({ ...group, code }));
  const repeats = [{ line: 3, firstLine: 2, text: 'different' as const }];
  const cost = {
    total: '8',
    maxCost: '5',
    currency: 'EUR',
    unpriced: 2,
    unpricedRows: [{ line: 3, to: '' }],
  };
  const list = { invalid: 2, rows: 4, differentTexts: 1, repeats, cost } as unknown as Preview;
  const refusals = (
    ['noRows', 'invalidRows', 'differentTexts', 'noPrice', 'overBudget', 'repeated'] as const
  ).flatMap((code) =>
    [{ country: 'GB' }, { countryColumn: 'land' }, {}].map((national) =>
      newTexts.refusal(code, { ...list, invalidGroups: [{ ...group, ...national, code: 'noCountry' }] }),
    ),
  );
  expect([...groups, ...refusals].filter((text) => FOREIGN.test(text) || text.includes('`'))).toEqual([]);
});

test('Labels, states, and events have no such word either', () => {
  const named = ['lane', 'lanes', 'whyItWaits', 'quota', 'unknownOutcomes', 'resolveAs'].map(labelOf);
  const states = [...REPORTED_STATUSES, 'backingOff', 'noToken', 'probing', 'held'].map(stateText);
  const events = [
    'request.unknown',
    'lane.backingOff',
    'lane.stopped',
    'lane.reopened',
    'campaign.paused',
  ].map((type) => eventText({ type, lane: 'main' }));
  expect([...named, ...states, ...events].filter((text) => FOREIGN.test(text))).toEqual([]);
});

test('Each state of a recipient, and of a row, has a word of its own and a sentence that explains it', () => {
  const words = REPORTED_STATUSES.map((state) => texts.recipients[state]);
  expect(new Set(words.map(([word]) => word)).size).toBe(REPORTED_STATUSES.length);
  expect(words.filter(([, about]) => !/^[A-Z].*\.$/.test(about))).toEqual([]);
});

test('What is decided about a message says what happens then, in the same words', () => {
  const all = Object.values(RESOLUTIONS).map((say) => say('3 recipients'));
  expect(
    all.filter((text) => FOREIGN.test(text) || !text.startsWith('The message to 3 recipients ')),
  ).toEqual([]);
});

test('A number that lacks digits is not said to lack a country', () => {
  const said = (number: string) =>
    newTexts.inPage(`"${number}" has no calling code; write it like +447700900123, or set \`country\`.`);
  expect(said('212 555')).toBe('"212 555" has no calling code. It may lack digits.');
  expect(said('07700 900101')).toContain('or choose a country above');
});
