import { expect, test } from 'vitest';
import { readLua } from '../../src/base/redis/script.js';
import { claimShape } from '../../src/engine/claim/claims.js';
import { STATE_MEMBERS } from '../../src/engine/store/campaigns.js';
import { testRedis } from '../base/redis/test-redis.js';
import { codeOf, lineAt } from './lua-code.js';
import { sourceFiles } from './sources.js';

/*
 * Lua returns nil for a member that does not exist, so a misspelled name is no error: the script decides something else. Each record
 * is declared once, with `---@class` and `---@field` as lua-language-server reads them, and has one name in all scripts. Every member
 * that a script reads or writes of that name must be declared.
 */

const { redis, prefix } = testRedis('lua-records');
const files = sourceFiles(['src'], ['.lua']);
const textOf = (path: string): string => files.find((file) => file.path === path)?.text ?? '';

/** The declared members of each class. */
const classes = new Map<string, Set<string>>();
for (const { text } of files) {
  for (const [, name = '', fields = ''] of text.matchAll(/^---@class (\w+)\n((?:---@field .*\n)*)/gm)) {
    classes.set(name, new Set([...fields.matchAll(/^---@field (\w+)\??/gm)].map(([, field = '']) => field)));
  }
}
const FIELDS = textOf('src/engine/store/fields.lua');
// What is stored of a lane is in tables, from which it is read.
for (const [stored] of FIELDS.matchAll(/^local LANE_(?:FIELDS|LEARNING) = \{.*?^\}/gms))
  for (const [, name = ''] of stored.replace(/--.*$/gm, '').matchAll(/(\w+) = '/g))
    classes.get('Lane')?.add(name);
// The rules of a lane come from TypeScript, which checks their names.
const [rules = ''] =
  /^export interface ScriptRules \{.*?^\}/ms.exec(
    sourceFiles(['src/engine/scripts'], ['script-rules.ts']).map(({ text }) => text)[0] ?? '',
  ) ?? [];
classes.set('Rules', new Set([...rules.matchAll(/^ {2}readonly (\w+)\??:/gm)].map(([, name = '']) => name)));

/** What a variable of this name holds, in every script of a lane. */
const RECORDS: Readonly<Record<string, string>> = {
  lane: 'Lane',
  c: 'Campaign',
  claim: 'Claim',
  batch: 'Batch',
  settlement: 'Settlement',
  rules: 'Rules',
};

/** The members of records that this code names and no class declares, as `file:line record.member`. */
function undeclared({ path, text }: { readonly path: string; readonly text: string }): string[] {
  const code = codeOf(text);
  return [...code.matchAll(/(?<![\w.:])(\w+)\.(\w+)/g)].flatMap(
    ({ 1: variable = '', 2: member = '', index }) => {
      const record = RECORDS[variable];
      if (record === undefined || classes.get(record)?.has(member)) return [];
      return `${path}:${lineAt(code, index)} ${variable}.${member}`;
    },
  );
}

test('Every member that a script names of a lane, a campaign, a claim, or its like is declared', () => {
  expect(Object.values(RECORDS).filter((record) => (classes.get(record)?.size ?? 0) < 10)).toEqual([]);
  const ofLanes = files.filter(({ path }) => !path.startsWith('src/service/'));
  expect(ofLanes.flatMap(undeclared)).toEqual([]);
});

test('A misspelled member is found where it is', () => {
  const text =
    "local a = c.state\n-- c.stat\nlocal b = 'c.stat'\nlane.gracUntil = x.c.whatever\nc.releasd[1] = 1\n";
  expect(undeclared({ path: 'x.lua', text })).toEqual(['x.lua:4 lane.gracUntil', 'x.lua:5 c.releasd']);
});

test('Every declared member is used by a script, or by TypeScript', () => {
  const code = files.map(({ text }) => codeOf(text)).join('\n');
  // claim.lua puts the kind of a turn before these.
  const ofTurns = /^(send|poll)(Turn|Call)$/;
  const isUsed = (name: string): boolean =>
    ofTurns.test(name) || new RegExp(`[.{,]\\s*${name}\\b|\\b${name} =`).test(code);
  const read = new Set(STATE_MEMBERS);
  const unused = [...classes].flatMap(([name, fields]) =>
    [...fields].filter((field) => !isUsed(field) && !read.has(field)).map((field) => `${name}.${field}`),
  );
  expect(unused).toEqual([]);
});

test('What TypeScript reads of a campaign and of a claim is what the scripts call it', () => {
  const missing = (name: string, members: readonly string[]): string[] =>
    members.filter((member) => classes.get(name)?.has(member) !== true);
  expect(missing('Campaign', STATE_MEMBERS)).toEqual([]);
  expect(missing('Claim', Object.keys(claimShape.shape))).toEqual([]);
});

/** The source of the record with a planted change in the table of fields, as a script that reads a lane. */
function planted(row: string, by: string): string {
  const source = readLua(new URL('../../src/engine/store/record.lua', import.meta.url));
  expect(source).toContain(row);
  return `${source.replace(row, by)}\nlane_read(KEYS[1])\nreturn 'read'`;
}

test('A field of a lane has a kind, or no script can read the lane', async () => {
  const key = `${prefix}:lane`;
  const [row, without] = ["sequence = 'count'", "sequence = ''"];
  expect(await redis.eval(planted(row, row), 1, key)).toBe('read');
  await expect(redis.eval(planted(row, without), 1, key)).rejects.toThrow('fields: sequence has no kind');
});

test('A corrected clock changes the fields of each kind', () => {
  const kinds = [
    ...(/^local LANE_KINDS = \{.*?^\}/ms.exec(FIELDS)?.[0] ?? '')
      .replace(/--.*$/gm, '')
      .matchAll(/(\w+) = ['\d]/g),
  ];
  const corrected =
    /^local CORRECTED = \{.*?^\}/ms.exec(textOf('src/engine/scripts/correct-clock.lua'))?.[0] ?? '';
  expect(kinds.length).toBeGreaterThan(5);
  expect(kinds.filter(([, kind = '']) => !new RegExp(`\\b${kind} = `).test(corrected))).toEqual([]);
});
