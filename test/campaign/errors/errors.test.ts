import { expect, test } from 'vitest';
import { asSentence } from '../../../src/campaign/errors/errors.js';

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
