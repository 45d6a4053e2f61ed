import { readFileSync } from 'node:fs';
import { parse } from 'dotenv';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { loadConfig } from '../../src/config/index.js';
import { SETTING_NAMES, SETTINGS } from '../../src/config/settings.js';

const example = readFileSync(new URL('../../.env.example', import.meta.url), 'utf8');

/** `NAME=value` and `#NAME=value` lines, with the comment lines right above them. */
const entries = example.split('\n\n').flatMap((paragraph) => {
  const lines = paragraph.trim().split('\n');
  const [, name, value] = /^#?([A-Z][A-Z_]*)=(.*)$/.exec(lines.at(-1) ?? '') ?? [];
  return name === undefined ? [] : [{ name, value: value ?? '', comment: lines.slice(0, -1) }];
});

const defaults = Object.fromEntries(
  Object.entries(SETTINGS.shape).map(([name, schema]) => [
    name,
    schema instanceof z.ZodPrefault ? String(schema.def.defaultValue) : '',
  ]),
);

describe('.env.example', () => {
  it('shows every setting once, and nothing that is no setting', () => {
    expect(entries.map(({ name }) => name).sort()).toEqual([...SETTING_NAMES].sort());
    expect(example.match(/^#?[A-Z][A-Z_]*=/gm)).toHaveLength(entries.length);
  });

  it('shows each default as the program has it', () => {
    expect(Object.fromEntries(entries.map(({ name, value }) => [name, value]))).toEqual(defaults);
  });

  it.each(entries)('says in a comment what $name is for', ({ comment }) => {
    expect(comment.join(' ')).toMatch(/^# [A-Z0-9].{30,}\.$/);
  });

  it('changes nothing as long as nothing is filled in', () => {
    const filled = { API_KEY: 'a-key', MESSAGING_BASE_URL: 'https://host.example' };
    expect(loadConfig({ ...parse(example), ...filled })).toEqual(loadConfig(filled));
  });

  it('changes nothing when every default is set by hand', () => {
    const filled = { API_KEY: 'a-key', MESSAGING_BASE_URL: 'https://host.example' };
    const byHand = parse(example.replaceAll(/^#(?=[A-Z][A-Z_]*=)/gm, ''));
    expect(loadConfig({ ...byHand, ...filled })).toEqual(loadConfig(filled));
  });
});
