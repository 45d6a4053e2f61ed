import { expect, it } from 'vitest';
import { nearest } from '../../src/campaign/nearest.js';

it.each([
  ['nmae', 'name'],
  ['Name', 'name'],
  ['firstname', 'first name'],
  ['first_name', 'first name'],
  ['citty', 'city'],
  ['cit', 'city'],
])('takes %s for %s', (name, meant) => {
  expect(nearest(name, ['to', 'name', 'first name', 'city'])).toBe(meant);
});

it('takes nothing for what is spelled otherwise', () => {
  expect(nearest('zip code', ['to', 'name', 'city'])).toBeNull();
  expect(nearest('zip', ['to'])).toBeNull();
  expect(nearest('name', [])).toBeNull();
});
