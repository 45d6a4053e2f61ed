import { expect, test } from 'vitest';
import { ConfigError } from '../../../src/base/config/index.js';
import { asSentence, InputError, KeyFullError, NotFoundError } from '../../../src/campaign/errors/errors.js';

test.each([
  ['there is no lane a; the lanes are: b, c', 'There is no lane a; the lanes are: b, c.'],
  ["unknown option '--mesage'", "Unknown option '--mesage'."],
  ['there is no lane a; the configured lanes are: b', 'There is no lane a; the configured lanes are: b.'],
  ['sender: too long', 'Sender: too long.'],
  ['It is missing', 'It is missing.'],
  ['validFor is too long', 'validFor is too long.'],
  ['--at has passed.', '--at has passed.'],
  ['2 of 3 rows are invalid', '2 of 3 rows are invalid.'],
  ['Is it running?', 'Is it running?'],
])('"%s" becomes the sentence "%s"', (message, sentence) => {
  expect(asSentence(message)).toBe(sentence);
});

test('An error has the status with which the HTTP API answers, and 500 if it never answers with that', () => {
  const all = [new InputError('a'), new NotFoundError('a'), new KeyFullError('a', { used: 1, limit: 1 })];
  expect([...all, new ConfigError(['a'])].map(({ statusCode }) => statusCode)).toEqual([400, 404, 507, 500]);
});

test.each([
  'To see its progress: volley status abc --watch',
  'To create one: volley send examples/spring-sale.csv --message "Hi {{name}}" --wait',
  'Give another folder: /srv',
  'Give the name of a file: folder/report.csv',
  'Create it first: mkdir -p /srv/a.b',
  'These are invalid:\n  line 2',
])('Nothing follows what people copy: "%s"', (message) => {
  expect(asSentence(message)).toBe(message);
});
