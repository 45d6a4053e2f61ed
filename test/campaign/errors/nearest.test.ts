import { expect, it } from 'vitest';
import { nearest } from '../../../src/campaign/errors/nearest.js';

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
