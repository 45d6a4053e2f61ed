import { describe, expect, test } from 'vitest';
import { storedForm } from '../../src/campaign/fields/field-kinds.js';
import { problemsOf } from '../../src/campaign/fields/field-sets.js';
import { FIELDS } from '../../src/campaign/fields/fields.js';
import { matchesFilters } from '../../src/campaign/fields/list-filters.js';

const problem = (tags: unknown): string | null =>
  FIELDS.tags.problem(storedForm(FIELDS.tags, tags) as readonly string[]);
const numbered = (count: number): string[] => Array.from({ length: count }, (_, at) => `tag-${at}`);

describe('Tags', () => {
  test.each([
    [['spring']],
    [['a', 'Z', '0', 'shop:17', 'v1.2_final-b', 'x'.repeat(64)]],
    [numbered(10)],
    // Each counts once.
    [[...numbered(10), ...numbered(10)]],
  ])('may be %j', (tags) => {
    expect(problem(tags)).toBeNull();
  });

  test.each([
    [numbered(11), 'there are 11 tags; the maximum is 10'],
    [['spring', ''], 'a tag has 0 characters; use 1 to 64'],
    [['x'.repeat(65)], 'a tag has 65 characters; use 1 to 64'],
    [
      ['spring sale'],
      'the tag "spring sale" has other characters than letters (A-Z, a-z), digits, and . _ : -',
    ],
    [['été'], 'the tag "été" has other characters than letters (A-Z, a-z), digits, and . _ : -'],
    [['spring\n'], 'the tag "spring\\n" has other characters than letters (A-Z, a-z), digits, and . _ : -'],
    [['spring', 7], 'the tag 7 is not a text'],
    ['spring', 'the tags are not a list of texts'],
  ])('may not be %j, and the reason says what is wrong', (tags, reason) => {
    expect(problem(tags)).toBe(reason);
  });

  test('that are invalid are reported with the name of their field', () => {
    const [error] = problemsOf(['tags'], { message: 'Hi', tags: ['a b'] });
    expect(error).toMatchObject({ field: 'tags', message: expect.stringContaining('"a b"') });
  });

  test('are stored sorted and once each, and no tags as nothing', () => {
    expect(storedForm(FIELDS.tags, ['vip', 'Spring', 'a', 'vip'])).toEqual(['Spring', 'a', 'vip']);
    expect(storedForm(FIELDS.tags, [])).toBeUndefined();
  });

  test('match a filter if a campaign has all that are asked for, in the same letter case', () => {
    const campaign = {
      text: 'Hi',
      sender: 'ACME',
      lane: 'main',
      name: 'Spring',
      priority: 'normal',
    } as const;
    const tagged = { ...campaign, tags: ['shop:17', 'vip'] };
    expect(matchesFilters(tagged, {})).toBe(true);
    expect(matchesFilters(tagged, { tag: 'vip' })).toBe(true);
    expect(matchesFilters(tagged, { tag: ['vip', 'shop:17'] })).toBe(true);
    expect(matchesFilters(tagged, { tag: ['vip', 'other'] })).toBe(false);
    expect(matchesFilters(tagged, { tag: 'VIP' })).toBe(false);
    expect(matchesFilters(tagged, { tag: 'vi' })).toBe(false);
    expect(matchesFilters(tagged, { tag: 'vip', name: 'autumn' })).toBe(false);
    expect(matchesFilters(campaign, { tag: 'vip' })).toBe(false);
  });
});
