import { expect, it } from 'vitest';
import { editsBetween, namesMeant, nearest, quotedList } from '../../../src/campaign/errors/nearest.js';

it.each([
  ['nmae', 'name'],
  ['Name', 'name'],
  ['firstname', 'first name'],
  ['first_name', 'first name'],
  ['citty', 'city'],
  ['cit', 'city'],
])('The name %s is taken for %s', (name, meant) => {
  expect(nearest(name, ['to', 'name', 'first name', 'city'])).toBe(meant);
});

it('A name that resembles no other is taken for none', () => {
  expect(nearest('zip code', ['to', 'name', 'city'])).toBeNull();
  expect(nearest('zip', ['to'])).toBeNull();
  expect(nearest('name', [])).toBeNull();
});

it('Names that are too long to be typed are not compared: each would take as many steps as the product of both lengths', () => {
  const long = 'a'.repeat(61);
  expect(nearest(long, [`${long}b`])).toBeNull();
  expect(editsBetween('name', long)).toBe(Number.POSITIVE_INFINITY);
});

it('A list of names shows the beginning of long ones', () => {
  expect(quotedList(['to', 'n'.repeat(61)])).toBe(`"to", "${'n'.repeat(60)}…"`);
});

it.each([
  ['accents in the other form of Unicode', 'Höhe', 'Ho\u0308he'],
  ['a space that does not break', 'first name', 'First\u00a0name'],
  ['two spaces', 'first name', 'first  name'],
  ['a mark without width', 'name', '\u200bname'],
])('A name means one that looks the same, with %s', (_, name, written) => {
  expect(namesMeant(name, ['to', written, 'namen'])).toEqual([written]);
  expect(namesMeant(name, [written, name])).toEqual([name]);
  expect(namesMeant(name, [written, name.toUpperCase()])).toEqual([written, name.toUpperCase()]);
});

it('Of thousands of names, a message lists fifty', () => {
  const names = Array.from({ length: 1_051 }, (_, at) => `c${at}`);
  expect(quotedList(names)).toMatch(/"c49", and 1,001 more$/);
});
