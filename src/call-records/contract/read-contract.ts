import { readFile } from 'node:fs/promises';
import { getNodeValue } from 'jsonc-parser';
import type { z } from 'zod';
import { unreadable } from '../../base/config/file-problem.js';
import { ConfigError } from '../../base/config/index.js';
import { parseJsonFile } from '../../base/config/json-file.js';
import { type Contract, contractMembers } from './contract.js';
import { contradictions } from './contradictions.js';

const schema = contractMembers.superRefine((contract, context) => {
  for (const [at, message] of contradictions(contract))
    context.addIssue({ code: 'custom', path: [...at], message });
});

/** Reads the contract in a file; see {@link parseContract}. */
export async function readContract(file: string): Promise<Contract> {
  const contents = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new ConfigError([unreadable('RECORDS_CONTRACT', file, error)]);
  });
  return parseContract(file, contents);
}

/** Parses a contract. Throws a ConfigError with a line for every problem, which names the file and the member. */
export function parseContract(file: string, contents: string): Contract {
  const { root, problem } = parseJsonFile(file, contents);
  if (root === undefined) throw new ConfigError([problem]);
  const value: unknown = getNodeValue(root);
  const { data, error } = schema.safeParse(value);
  if (error === undefined) return data;
  throw new ConfigError(
    error.issues.flatMap((issue) => problemsOf(issue, value)).map((each) => `${file}: ${each}`),
  );
}

function problemsOf(issue: z.core.$ZodIssue, contract: unknown): string[] {
  const at = issue.path.length === 0 ? 'the contract' : issue.path.map(String).join('.');
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => `${[...issue.path, key].join('.')} is not a member of a contract`);
  if (issue.code === 'invalid_key') return issue.issues.map(({ message }) => `${at} ${message}`);
  const given = issue.path.reduce<unknown>((value, step) => Object(value)[step], contract);
  if (given === undefined) return [`${at} is missing; nothing in a contract has a default`];
  const expected = issue.code === 'invalid_type' ? EXPECTED[issue.expected] : undefined;
  return [`${at} ${expected === undefined ? issue.message : `must be ${expected}`}`];
}

/** How a problem names a JSON type. */
const EXPECTED: Readonly<Record<string, string>> = {
  array: 'a list',
  boolean: 'true or false',
  int: 'a whole number',
  number: 'a whole number',
  object: 'an object',
  record: 'an object',
  string: 'a text',
};
