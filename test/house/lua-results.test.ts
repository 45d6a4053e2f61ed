import { expect, test } from 'vitest';
import { readHeader } from '../../src/base/redis/script.js';
import { RESULT_STATES } from '../../src/campaign/states/recipient.js';
import { importsOf, sourceFiles } from './sources.js';

const files = sourceFiles(['src'], ['.lua']);
const included = new Set(files.flatMap(importsOf));
const codeOf = (text: string): string => text.replace(/^--\[\[.*?^\]\]$/gms, '').replace(/--.*$/gm, '');

/** Functions of included files that may give recipients a state that is a result. */
const MOVERS = [
  'campaign_give_up',
  'campaign_release',
  'statuses_report',
  'statuses_move',
  'ORDER.take',
  'OUTBOX.finish',
  'OUTBOX.look',
];

/** Whether a script itself may give recipients a state that is a result. */
function yieldsResults(code: string): boolean {
  const moves = [...code.matchAll(/\bcampaign_move\([^,]+,[^,]+,\s*('(\w+)'|[^,)]+)/g)];
  const mayMove = moves.some(([, , to]) => RESULT_STATES.some((state) => to === undefined || to === state));
  return mayMove || MOVERS.some((mover) => code.includes(`${mover}(`));
}

const scripts = files
  .filter(({ path }) => !included.has(path))
  .map((file) => ({ path: file.path, code: codeOf(file.text), keys: readHeader(file.text).keys }));
const order = files.find(({ path }) => path === 'src/engine/claim/order.lua')?.text;
const looking = files.find(({ path }) => path === 'src/engine/store/due-messages.lua')?.text;
const yielding = scripts.filter(({ code }) => yieldsResults(code));

test('The scripts that settle recipients are these', () => {
  expect(yielding.map(({ path }) => path.replace(/^.*\//, '')).sort()).toEqual([
    'cancel-messages.lua',
    'cancel-recipients.lua',
    'claim-send.lua',
    'command-campaign.lua',
    'end-old-campaign.lua',
    'look-outboxes.lua',
    'recovery-barrier.lua',
    'resolve-unknown.lua',
    'settle-notifications.lua',
    'settle-poll.lua',
    'settle-send.lua',
    'sweep-lane.lua',
    'tend-outbox.lua',
  ]);
});

test.each([...yielding, ...scripts.filter(({ path }) => /commit-import/.test(path))])(
  '$path appends the results of the recipients that it settles to the log of the lane',
  ({ code, keys }) => {
    expect(keys).toEqual(expect.arrayContaining(['results', 'latestResults']));
    // What is taken in the fair order is saved with it, and so is what lapses in a look at an outbox.
    if (code.includes('ORDER.save(')) return expect(order).toMatch(/campaigns_save\(.*keys\.latestResults\)/);
    if (code.includes('OUTBOX.look('))
      return expect(looking).toMatch(/campaigns_save\(.*keys\.latestResults\)/);
    const saves = [...code.matchAll(/\bcampaigns_save\((.*)\)/g)].map(([, args = '']) => args);
    expect(saves.length).toBeGreaterThan(0);
    for (const args of saves) expect(args).toMatch(/, resultsKey, latestResultsKey$/);
  },
);

test('Only one file writes the states of campaigns, one their statuses, and one the log', () => {
  const writing = (call: RegExp): string[] =>
    files.filter(({ text }) => call.test(codeOf(text))).map(({ path }) => path);
  expect(writing(/'SETRANGE', statuses\b/)).toEqual(['src/engine/store/statuses.lua']);
  expect(writing(/'(APPEND|SET|DEL)', latestResultsKey/)).toEqual(['src/engine/store/results.lua']);
  // The beginning of an import has no recipients yet, and a new outbox no messages.
  expect(writing(/'HSET', statesKey/)).toEqual([
    'src/engine/store/campaigns.lua',
    'src/intake/import/begin-import.lua',
    'src/intake/outbox/create-outbox.lua',
  ]);
});
