import { expect, test } from 'vitest';
import { loadLocalConfig } from '../../../src/base/config/index.js';
import { wishReader } from '../../../src/campaign/text/stop-words.js';

const wishOf = wishReader({ stopWords: ['stop', 'opt out', 'arret'], startWords: ['start', 'Stop'] });

test.each([
  ['stop', 'stop'],
  ['  STOP!! ', 'stop'],
  ['"Stop."', 'stop'],
  ['Arrêt', 'stop'],
  ['ＳＴＯＰ', 'stop'],
  ['Opt-Out', 'stop'],
  ['opt\n out', 'stop'],
  ['OPTOUT', 'stop'],
  ['opt_out', 'stop'],
  ['S.T.O.P.', 'stop'],
  [`stop${' '.repeat(300)}`, 'stop'],
  ['S\u00adT\u200bOP', 'stop'],
  ['Start 👍', 'start'],
])('The reply %j asks to %s', (text, wish) => {
  expect(wishOf(text)).toBe(wish);
});

test.each(['please stop', "don't stop", 'stop it', '', '!!!', `stop ${'!'.repeat(300)}`])(
  'The reply %j asks for nothing',
  (text) => {
    expect(wishOf(text)).toBeNull();
  },
);

/** What 47 CFR 64.1200(a)(10) lists, and how people and carriers write it. */
const OPT_OUTS = ['stop', 'quit', 'end', 'revoke', 'opt out', 'cancel', 'unsubscribe', 'stop all', 'stopall'];

test.each(OPT_OUTS)('Without STOP_WORDS, %j stops in any case, with any spaces and punctuation', (word) => {
  const read = wishReader(loadLocalConfig({ REDIS_URL: 'redis://127.0.0.1:1' }).replies);
  const spellings = [
    word,
    word.toUpperCase(),
    ...['', '-', '  ', '.', '_', '\u00a0', '\u2011', '/'].map((gap) => word.replace(' ', gap)),
    `“${word.toUpperCase()}”!`,
    [...word].join(' '),
  ];
  expect(spellings.filter((spelling) => read(spelling) !== 'stop')).toEqual([]);
});
