import { readFileSync } from 'node:fs';
import { parse } from 'dotenv';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { envExample } from '../../src/config/env-example.js';
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
  it('is the text that `npm run env:example` generates', () => {
    expect(example).toBe(envExample());
  });

  it('contains every setting once and nothing else', () => {
    expect(entries.map(({ name }) => name).sort()).toEqual([...SETTING_NAMES].sort());
    expect(example.match(/^#?[A-Z][A-Z_]*=/gm)).toHaveLength(entries.length);
  });

  it('shows the default of each setting', () => {
    expect(Object.fromEntries(entries.map(({ name, value }) => [name, value]))).toEqual(defaults);
  });

  it.each(entries)('describes $name in a comment', ({ comment }) => {
    expect(comment.join(' ')).toMatch(/^# [A-Z0-9].{30,}\.$/);
  });

  it('has no line that is too long to read', () => {
    expect(example.split('\n').filter((line) => line.length > 120)).toEqual([]);
  });

  it('has no effect until you fill something in', () => {
    const filled = { API_KEY: 'a-key', MESSAGING_BASE_URL: 'https://host.example' };
    expect(loadConfig({ ...parse(example), ...filled })).toEqual(loadConfig(filled));
  });

  it('has no effect if you set every default by hand', () => {
    const filled = { API_KEY: 'a-key', MESSAGING_BASE_URL: 'https://host.example' };
    const byHand = parse(example.replaceAll(/^#(?=[A-Z][A-Z_]*=)/gm, ''));
    expect(loadConfig({ ...byHand, ...filled })).toEqual(loadConfig(filled));
  });
});
