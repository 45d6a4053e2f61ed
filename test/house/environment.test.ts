import { readdirSync, readFileSync } from 'node:fs';
import { parse } from 'dotenv';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { loadConfig } from '../../src/base/config/index.js';
import { laneSchema } from '../../src/base/config/lane.js';
import { SECTIONS, SETTING_NAMES, SETTINGS, secretsInFiles } from '../../src/base/config/settings.js';

const SECRETS = secretsInFiles('all').filter((name) => name !== 'API_KEY');

const HEADER = `# Volley settings. Copy this file to .env and fill in MESSAGING_BASE_URL and API_KEY; the rest is optional.
# Variables of the real environment take precedence over .env. An empty value counts as not set.
# "#NAME=value" shows a default. Volley checks all settings at start and reports all problems together; so does
# \`volley doctor\`.
# A secret can be in a file, as in a container: API_KEY_FILE=/run/secrets/api_key. So can the
# variables that LANES_FILE names, ${SECRETS.slice(0, 3).join(', ')},
# ${SECRETS.slice(3, 8).join(', ')},
# ${SECRETS.slice(8, -1).join(', ')}, and ${SECRETS.slice(-1).join(', ')}.`;

/** Settings that are not commented out, because most users fill them in. */
const FILLED_IN = ['MESSAGING_BASE_URL', 'API_KEY'];

/** The text of `.env.example`: the description, format, and default of every setting. */
function envExample(): string {
  const sections = Object.entries(SECTIONS).flatMap(([title, settings]) => [
    `# --- ${title} ---`,
    ...Object.entries(settings).map(([name, schema]) => paragraph(name, schema)),
  ]);
  return `${[HEADER, ...sections].join('\n\n')}\n`;
}

function paragraph(name: string, schema: z.ZodOptional<z.ZodType> | z.ZodPrefault<z.ZodType>): string {
  const description = (schema.description ?? '').replace(/\n {8}/g, '\n').trim();
  const expected = schema.unwrap().meta()?.['expected'];
  const comment = expected === undefined ? description : `${description}\nValue: ${expected}.`;
  const lines = comment.match(/.{1,116}(?: |$)/gm) ?? [];
  const value = schema instanceof z.ZodPrefault ? String(schema.def.defaultValue) : '';
  const setting = `${FILLED_IN.includes(name) ? '' : '#'}${name}=${value}`;
  return [...lines.map((line) => `# ${line.trimEnd()}`), setting].join('\n');
}

const example = envExample();

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
  it('is the text that `npm run env:example` generates', async () => {
    await expect(example).toMatchFileSnapshot('../../.env.example');
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

  it('writes the window of a lane as a lanes file has it', () => {
    const members = ['zone', 'window'].map(
      (name) => new RegExp(`"${name}": ("[^"]*"|\\{[^}]*\\})`).exec(example.replaceAll('\n# ', ' '))?.[0],
    );
    const lane: unknown = JSON.parse(`{"name": "acme", ${members.join()}}`);
    expect(laneSchema('auto', 1).safeParse(lane).error).toBeUndefined();
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

describe('Each setting', () => {
  it('becomes a member of the configuration, or is combined with others', () => {
    const folder = 'src/base/config';
    const code = readdirSync(folder)
      .filter((file) => file !== 'settings.ts')
      .map((file) => readFileSync(`${folder}/${file}`, 'utf8'))
      .join('\n');
    const combined = SETTING_NAMES.filter((name) => !('member' in SETTINGS.shape[name].unwrap()));
    expect(combined.length).toBeGreaterThan(10);
    expect(combined.filter((name) => !new RegExp(`\\b${name}\\b`).test(code))).toEqual([]);
  });
});
