import { expect, test } from 'vitest';
import { CAMPAIGN_STATE, CAMPAIGN_STATES } from '../../src/campaign/states/campaign.js';
import { RECIPIENT_STATE, RECIPIENT_STATES, RESULT_STATES } from '../../src/campaign/states/recipient.js';
import { POLL_EFFECTS } from '../../src/engine/follow-up/effects.js';
import { SEND_EFFECTS } from '../../src/engine/sending/effects.js';
import { STATE_DEFAULTS } from '../../src/engine/store/campaigns.js';

/*
 * The tables that TypeScript and Lua share are written in TypeScript. After a change, write their Lua side with
 *
 *   npm run generate:lua
 */

type Row = Readonly<Record<string, string | number | null | boolean>>;

const cell = (value: string | number | boolean): string =>
  typeof value === 'string' ? `'${value}'` : String(value);
const row = (values: Row): string =>
  `{ ${Object.entries(values)
    .flatMap(([name, value]) => (value === null ? [] : [`${name} = ${cell(value)}`]))
    .join(', ')} }`.replace('{  }', '{}');
const table = (name: string, rows: Readonly<Record<string, Row>>): string =>
  [
    `local ${name} = {`,
    ...Object.entries(rows).map(([key, values]) => `  ${key} = ${row(values)},`),
    '}',
    '',
  ].join('\n');
const set = (names: readonly string[]): Row => Object.fromEntries(names.map((name) => [name, true]));
const file = (name: string, purpose: string, ...parts: readonly string[]): string =>
  [
    `--[[\n  ${name}: ${purpose}\n  Generated: change the table in TypeScript and run \`npm run generate:lua\`.\n]]`,
    ...parts,
  ].join('\n');
const mapped = <Rules>(rows: Readonly<Record<string, Rules>>, of: (rules: Rules) => Row) =>
  Object.fromEntries(Object.entries(rows).map(([key, rules]) => [key, of(rules)]));

const letters = RECIPIENT_STATES.flatMap((state) => {
  const { letter } = RECIPIENT_STATE[state];
  return letter === null ? [] : [[state, letter] as const];
});

test('The states of the scripts are those of campaign/states/campaign.ts and campaign/states/recipient.ts', async () => {
  const open = RECIPIENT_STATES.filter((state) => RECIPIENT_STATE[state].open);
  const text = file(
    'states',
    'the states of a campaign, the allowed moves, and commands, from campaign/states/campaign.ts; what a campaign begins with, from store/campaigns.ts; the states of a recipient, their letters, and the allowed moves, from campaign/states/recipient.ts.',
    table(
      'CAMPAIGN_MOVES',
      mapped(CAMPAIGN_STATE, ({ next }) => set(next)),
    ) +
      table(
        'CAMPAIGN_COMMANDS',
        mapped(CAMPAIGN_STATE, ({ commands }) => set(commands)),
      ) +
      `local CAMPAIGN_DEFAULTS = ${row(STATE_DEFAULTS)}`,
    `local CAMPAIGN_NUMBER = ${row(Object.fromEntries(CAMPAIGN_STATES.map((state, at) => [state, at])))}`,
    `local OPEN_STATES = { ${open.map(cell).join(', ')} }`,
    `local RESULT_STATES = ${row(set(RESULT_STATES))}`,
    `local RECIPIENT_LETTER = ${row(Object.fromEntries(letters))}`,
    `local RECIPIENT_STATE = ${row(Object.fromEntries(letters.map(([state, letter]) => [letter, state])))}`,
    table(
      'RECIPIENT_MOVES',
      mapped(RECIPIENT_STATE, ({ next }) => set(next)),
    ),
  );
  await expect(text).toMatchFileSnapshot('../../src/engine/store/states.lua');
});

test('The scripts settle a send as sending/effects.ts says', async () => {
  const text = file(
    'effects',
    'what each result of a send does, from sending/effects.ts.',
    table('SEND_EFFECTS', SEND_EFFECTS),
  );
  await expect(text).toMatchFileSnapshot('../../src/engine/sending/effects.lua');
});

test('The scripts settle a poll as follow-up/effects.ts says', async () => {
  const text = file(
    'effects',
    'what each result of a poll does, from follow-up/effects.ts.',
    table('POLL_EFFECTS', POLL_EFFECTS),
  );
  await expect(text).toMatchFileSnapshot('../../src/engine/follow-up/effects.lua');
});
