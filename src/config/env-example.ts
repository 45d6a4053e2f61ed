import { z } from 'zod';
import { SECTIONS } from './settings.js';

const HEADER = `# Volley settings. Copy this file to .env and fill in MESSAGING_BASE_URL and API_KEY; the rest is optional.
# Variables of the real environment take precedence over .env. An empty value counts as not set.
# "#NAME=value" shows a default. Volley checks all settings at start and reports all problems together; so does
# \`volley doctor\`.`;

/** Settings that are not commented out, because most users fill them in. */
const FILLED_IN = ['MESSAGING_BASE_URL', 'API_KEY'];

/** The text of `.env.example`: the description, format, and default of every setting. */
export function envExample(): string {
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
