import { expect, test } from 'vitest';
import { wishReader } from '../../src/campaign/stop-words.js';

const wishOf = wishReader({ stopWords: ['stop', 'opt out', 'arret'], startWords: ['start', 'Stop'] });

test.each([
  ['stop', 'stop'],
  ['  STOP!! ', 'stop'],
  ['"Stop."', 'stop'],
  ['Arrêt', 'stop'],
  ['ＳＴＯＰ', 'stop'],
  ['Opt-Out', 'stop'],
  ['opt\n out', 'stop'],
  ['S\u00adT\u200bOP', 'stop'],
  ['Start 👍', 'start'],
])('The reply %j asks to %s', (text, wish) => {
  expect(wishOf(text)).toBe(wish);
});

test.each(['please stop', "don't stop", 'stop it', 'optout', '', '!!!', `stop${' '.repeat(300)}`])(
  'The reply %j asks for nothing',
  (text) => {
    expect(wishOf(text)).toBeNull();
  },
);
