import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { loadDotEnv, readProblem } from '../../../base/config/index.js';
import type { Context } from '../context/context.js';
import { badInput } from '../context/errors.js';

/** The fields of a lane. Those that name a variable, such as `apiKeyEnv`, get its value here. */
export async function settingsIn(
  { stdin, cwd, env }: Context,
  file: string,
): Promise<Record<string, unknown>> {
  let contents: string;
  try {
    contents = file === '-' ? await text(stdin) : readFileSync(resolve(cwd, file), 'utf8');
  } catch (error) {
    throw badInput(readProblem(error, file) ?? `The file ${file} cannot be read.`);
  }
  const variables = loadDotEnv(cwd, env);
  const resolved = (fields: object): Record<string, unknown> =>
    Object.fromEntries(
      Object.entries(fields).map(([field, value]: [string, unknown]) => {
        if (typeof value === 'object' && value !== null && !Array.isArray(value))
          return [field, resolved(value)];
        if (!field.endsWith('Env') || typeof value !== 'string') return [field, value];
        const found = variables[value];
        if (found === undefined) throw badInput(`${field} names ${value}, which is not set.`);
        return [field.slice(0, -'Env'.length), found];
      }),
    );
  let parsed: unknown;
  try {
    parsed = JSON.parse(contents);
  } catch {
    parsed = null;
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
    throw badInput(`The file ${file} must contain one JSON object: the fields of a lane.`);
  return resolved(parsed);
}
