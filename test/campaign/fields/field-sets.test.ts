import { expect, test } from 'vitest';
import { FIELD_NAMES, fieldNamed, problemsOf } from '../../../src/campaign/fields/field-sets.js';

const texts = FIELD_NAMES.flatMap((name) => {
  const field = fieldNamed(name);
  return 'longest' in field ? [{ name, longest: field.longest }] : [];
});

test.each(texts)('$name has at most $longest characters, in code as over HTTP', ({ name, longest }) => {
  const problems = (length: number): string[] =>
    problemsOf([name], { [name]: 'x'.repeat(length) }).map(({ message }) => message);
  const tooLong = `${name} has ${longest + 1} characters; the maximum is ${longest}`;
  expect(problems(longest + 1)).toEqual([tooLong]);
  expect(problems(longest)).not.toContain(tooLong);
});
