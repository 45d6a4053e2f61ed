import { expect, test } from 'vitest';
import { readLua } from '../../src/base/redis/script.js';
import { codeOf } from './lua-code.js';
import { importsOf, sourceFiles } from './sources.js';

/*
 * Lua finds out only at run time that a script calls a function that does not exist, or that is defined further down; it ignores
 * arguments that a function does not take. Both are checked here, for each script with everything that it includes.
 */

const files = sourceFiles(['src'], ['.lua']);
const included = new Set(files.flatMap(importsOf));
const scripts = files.filter(({ path }) => !included.has(path));

const BUILT_IN = new Set(
  'and or not return if elseif while until in function error ipairs next pairs pcall select tonumber tostring type unpack'.split(
    ' ',
  ),
);

/** The texts between the commas of the outermost level of an argument list that begins at this place. */
function argumentsAt(code: string, open: number): string[] {
  const parts = [''];
  let depth = 0;
  for (let at = open; at < code.length; at += 1) {
    const char = code[at] ?? '';
    if ('([{'.includes(char)) depth += 1;
    if (')]}'.includes(char)) depth -= 1;
    if (depth === 0) break;
    if (char === ',' && depth === 1) parts.push('');
    else if (at > open) parts.push(`${parts.pop()}${char}`);
  }
  return parts.every((part) => part.trim() === '') ? [] : parts;
}

/** A part of an argument list in which commas do not separate arguments: a function written in place. */
const hasFunction = (args: readonly string[]): boolean => args.some((arg) => /\bfunction\b/.test(arg));

/** What is wrong with the calls of this code. */
function wrongCalls(code: string): string[] {
  /** The functions, with their parameters and where they are known from. */
  const defined = new Map<string, { readonly at: number; readonly takes: number }>();
  const known = new Map<string, number>();
  for (const { 1: name = '', index, 0: head } of code.matchAll(/\bfunction ([\w.]+)\(/g)) {
    const takes = argumentsAt(code, index + head.length - 1);
    if (!defined.has(name))
      defined.set(name, { at: index, takes: takes.includes('...') ? 99 : takes.length });
    for (const parameter of takes)
      known.set(parameter.trim(), Math.min(known.get(parameter.trim()) ?? index, index));
  }
  // Values that hold functions, such as parameters and forward declarations.
  for (const { 1: names = '', index } of code.matchAll(/\blocal ((?:\w+, )*\w+)/g)) {
    for (const name of names.split(', ')) if (!known.has(name)) known.set(name, index);
  }
  const wrong: string[] = [];
  for (const { 1: name = '', index, 0: head } of code.matchAll(/(?<![\w.:])([A-Za-z_][\w.]*)\s*\(/g)) {
    if (BUILT_IN.has(name) || /^(redis|cjson|string|table|math|struct|bit|cmsgpack)\./.test(name)) continue;
    if (/\bfunction $/.test(code.slice(Math.max(0, index - 9), index))) continue;
    const target = defined.get(name);
    const from = Math.min(
      target?.at ?? Number.POSITIVE_INFINITY,
      known.get(name) ?? Number.POSITIVE_INFINITY,
    );
    if (from > index && !name.includes('.')) wrong.push(`${name} is not defined before it is called`);
    else if (target === undefined && name.includes('.') && /^[A-Z]|^results\./.test(name))
      wrong.push(`there is no ${name}`);
    if (target === undefined) continue;
    const passed = argumentsAt(code, index + head.length - 1);
    if (!hasFunction(passed) && passed.length > target.takes)
      wrong.push(`${name} takes ${target.takes} arguments and gets ${passed.length}`);
  }
  return wrong;
}

const ROOT = new URL('../../', import.meta.url);

test.each(scripts)('$path calls functions that exist, with no more arguments than they take', ({ path }) => {
  const code = codeOf(readLua(new URL(path, ROOT)));
  expect([...new Set(wrongCalls(code))]).toEqual([]);
});

test('A misspelled function, one that is defined too late, and an argument too many are found', () => {
  const code = codeOf(`
    local function move(c, from, to) later(c) return c end
    local function later(c) return c end
    function BATCH.runs(c, to) return c end
    move(c, 'planned', f(1, 2), { 1, 2 })
    moev(c)
    BATCH.run(c)
    BATCH.runs(c, 1, 2)
  `);
  expect(wrongCalls(code)).toEqual([
    'later is not defined before it is called',
    'move takes 3 arguments and gets 4',
    'f is not defined before it is called',
    'moev is not defined before it is called',
    'there is no BATCH.run',
    'BATCH.runs takes 2 arguments and gets 3',
  ]);
});
