import { expect, test } from 'vitest';
import { sourceFiles } from './sources.js';

const sources = sourceFiles(['src', 'workers'], ['.ts']);

/** The beginning of an error's message, or of the reason that a function returns for one. */
const MESSAGE =
  /(?:\w+Error|Problem|badInput)\(\s*(?:'\w+',\s*|EXIT\.\w+,\s*)*`\$\{(\w+)\}|return `\$\{(path)\}/g;
/** Values that people choose. At the beginning of a sentence, they would get a capital letter that they do not have. */
const CHOSEN = ['path', 'file', 'shown', 'name', 'to', 'from', 'host', 'wrong', 'lane', 'id'];

/** A text that begins with a participle and its object. */
const PARTICIPLE = /['`][A-Z][a-z]+ing (?:that|the|\$\{|[A-Z]{2})[^'`]*/g;

test('What doctor advises begins with what to do, as a rename once left "Finding MESSAGING_BASE_URL"', () => {
  const doctor = sources.filter(({ path }) => /\/doctor[/.]/.test(path));
  expect(doctor.length).toBeGreaterThan(15);
  expect(doctor.flatMap(({ text }) => text.match(PARTICIPLE) ?? [])).toEqual([]);
});

test('No error message begins with a value that people choose, because its first letter becomes a capital', () => {
  const found = sources.flatMap(({ path, text }) =>
    [...text.matchAll(MESSAGE)].map((match) => [path, match[1] ?? match[2] ?? '']),
  );
  // The pattern finds messages that begin with other values.
  expect(found.length).toBeGreaterThan(5);
  expect(found.filter(([, value = '']) => CHOSEN.includes(value))).toEqual([]);
});
