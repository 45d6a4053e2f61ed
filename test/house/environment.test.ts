import { readdirSync, readFileSync } from 'node:fs';
import { parse } from 'dotenv';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { loadConfig } from '../../src/base/config/index.js';
import { laneSchema } from '../../src/base/config/lane.js';
import { SECTIONS, SETTING_NAMES, SETTINGS, secretsInFiles } from '../../src/base/config/settings.js';

const SECRETS = secretsInFiles('all').filter((name) => name !== 'API_KEY');

/** What most users set. These settings come first, in ten lines with the sentence above them; the rest of the file describes them. */
const FIRST = [
  'MESSAGING_BASE_URL',
  'API_KEY',
  'HOURLY_QUOTA',
  'SENDER_ADDRESS',
  'DEFAULT_COUNTRY',
  'REDIS_URL',
  'SECRETS_KEY',
  'CALLBACK_URL',
  'CALLBACK_SECURITY_TOKEN',
];
/** Settings that are not commented out, because most users fill them in. */
const FILLED_IN = ['MESSAGING_BASE_URL', 'API_KEY'];

const HEADER = `# Variables of the real environment take precedence over .env. An empty value counts as not set.
# "#NAME=value" shows a default. Volley checks all settings at start and reports all problems together; so does
# \`volley doctor\`.
# A secret can be in a file, as in a container: API_KEY_FILE=/run/secrets/api_key. So can the
# variables that LANES_FILE names, ${SECRETS.slice(0, 3).join(', ')},
# ${SECRETS.slice(3, 8).join(', ')},
# ${SECRETS.slice(8, -1).join(', ')}, and ${SECRETS.slice(-1).join(', ')}.`;

/** The text of `.env.example`: the description, format, and default of every setting. */
function envExample(): string {
  const first = [
    '# Settings of Volley. Copy this file to .env and fill in the first two; the rest is optional, and described below.',
    ...FIRST.map(assignment),
  ].join('\n');
  const sections = Object.entries(SECTIONS).flatMap(([title, settings]) => [
    `# --- ${title} ---`,
    ...Object.keys(settings).map(paragraph),
  ]);
  return `${[first, HEADER, ...sections].join('\n\n')}\n`;
}

const schemaOf = (name: string): z.ZodOptional<z.ZodType> | z.ZodPrefault<z.ZodType> =>
  Object(SETTINGS.shape)[name];

function assignment(name: string): string {
  const schema = schemaOf(name);
  const value = schema instanceof z.ZodPrefault ? String(schema.def.defaultValue) : '';
  return `${FILLED_IN.includes(name) ? '' : '#'}${name}=${value}`;
}

function paragraph(name: string): string {
  const schema = schemaOf(name);
  const description = (schema.description ?? '').replace(/\n {8}/g, '\n').trim();
  const expected = schema.unwrap().meta()?.['expected'];
  // Lines with an indent are examples; the others flow.
  const flowing = description.replaceAll(/(?<=^\S.*)\n(?=\S)/gm, ' ');
  const text = FIRST.includes(name) ? `${name}: ${flowing}` : flowing;
  const comment = expected === undefined ? text : `${text}\nValue: ${expected}.`;
  const lines = comment.match(/.{1,116}(?: |$)/gm) ?? [];
  const described = lines.map((line) => `# ${line.trimEnd()}`);
  return (FIRST.includes(name) ? described : [...described, assignment(name)]).join('\n');
}

const example = envExample();

/** `NAME=value` and `#NAME=value` lines, with the comment lines that describe them: right above, or after the name. */
const entries = [...example.matchAll(/^#?([A-Z][A-Z_]*)=(.*)$/gm)].map(([line, name = '', value = '']) => {
  const described = example
    .trim()
    .split('\n\n')
    .find((each) => (FIRST.includes(name) ? each.startsWith(`# ${name}: `) : each.endsWith(`\n${line}`)));
  const comment = (described?.trim().split('\n') ?? []).filter((each) => each !== line);
  return { name, value, comment };
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

  it('begins with ten lines that have what most users set', () => {
    const [first = ''] = example.split('\n\n');
    expect(first.split('\n')).toHaveLength(10);
    expect(Object.keys(parse(first.replaceAll(/^#(?=[A-Z_]+=)/gm, '')))).toEqual(FIRST);
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
