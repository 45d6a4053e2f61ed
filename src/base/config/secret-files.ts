import { readFileSync } from 'node:fs';
import type { Environment } from './environment.js';
import { unreadable } from './file-problem.js';
import { secretsInFiles } from './settings.js';

/** The environment with the secrets that were read from files. */
export interface SecretFiles {
  readonly environment: Environment;
  /** Where each of these secrets is from, by its name; for error messages. */
  readonly sources: ReadonlyMap<string, string>;
  /** One sentence per file that cannot be used. */
  readonly problems: readonly string[];
}

/** Whether a secret is set, by itself or with a file. */
export function isSecretSet(environment: Environment, name: string): boolean {
  return Boolean(environment[name]?.trim() || environment[`${name}_FILE`]?.trim());
}

/** Reads the secrets that are in files. `local`: only those that are needed without calls to the service. */
export function readSecretFiles(
  environment: Environment,
  { readFile, local = false }: { readonly readFile?: ReadFile | undefined; readonly local?: boolean } = {},
): SecretFiles {
  const values: Record<string, string> = {};
  const sources = new Map<string, string>();
  const problems: string[] = [];
  for (const name of secretsInFiles(local ? 'every' : 'all')) {
    const secret = readSecret(environment, name, readFile);
    if (secret === undefined) continue;
    if ('problem' in secret) problems.push(secret.problem);
    else if (secret.file !== undefined) {
      values[name] = secret.value;
      sources.set(name, `${name}_FILE, ${secret.file}`);
    }
  }
  return { environment: { ...environment, ...values }, sources, problems };
}

type ReadFile = (path: string) => string;

/** The value of a secret, or of the file that its `_FILE` setting names; undefined if neither is set. */
export function readSecret(
  environment: Environment,
  name: string,
  readFile: ReadFile = (path) => readFileSync(path, 'utf8'),
): { readonly value: string; readonly file?: string } | { readonly problem: string } | undefined {
  const value = environment[name];
  const setting = `${name}_FILE`;
  const file = environment[setting]?.trim();
  if (!file) return value?.trim() ? { value } : undefined;
  if (value?.trim()) return { problem: `${name} and ${setting} are both set: unset one` };
  try {
    // Editors and `echo` end a file with a line break. A password may end with a space.
    const text = readFile(file)
      .replace(/^\uFEFF/, '')
      .replace(/\r?\n$/, '');
    return text.trim() === '' ? { problem: `${setting}: ${file} is empty` } : { value: text, file };
  } catch (error) {
    return { problem: unreadable(setting, file, error) };
  }
}
