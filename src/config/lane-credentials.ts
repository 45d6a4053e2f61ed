import type { z } from 'zod';
import type { Environment } from './dot-env.js';
import type { Credentials } from './lane.js';
import type { SOURCES } from './lane-schema.js';

/** The steps from a lane to one of its fields. */
export type Path = (string | number)[];

/** Takes a fault of one field: what would be right, as the rest of a sentence that begins with the field. */
export type Report = (path: Path, message: string) => void;

/**
 * The credentials of a lane, from the lane itself or from the variables it names; undefined after a fault, which
 * is reported by the path of its field and never with a value.
 */
export function resolveCredentials(
  { apiKey, apiKeyEnv, account }: z.output<typeof SOURCES>,
  environment: Environment,
  report: Report,
): Credentials | undefined {
  const given = [apiKey, apiKeyEnv, account].filter((source) => source !== undefined);
  if (given.length !== 1) {
    const number = given.length === 0 ? 'has no credentials' : 'has more than one kind of credentials';
    report([], `${number}: give one of apiKey, apiKeyEnv (the name of a variable) or account`);
    return undefined;
  }
  /** The value itself or that of the variable; exactly one of the two must be given. */
  const pick = (path: Path, value: string | undefined, variable: string | undefined): string | undefined => {
    const field = path.join('.');
    if ((value === undefined) === (variable === undefined)) {
      report(path, `must be given as either ${path.at(-1)} or ${path.at(-1)}Env`);
      return undefined;
    }
    if (variable === undefined) return value;
    const found = environment[variable]?.trim();
    if (found) return found;
    report(
      [...path.slice(0, -1), `${path.at(-1)}Env`],
      `names ${variable}, which is not set (needed as ${field})`,
    );
    return undefined;
  };
  if (account === undefined) {
    const key = pick(['apiKey'], apiKey, apiKeyEnv);
    return key === undefined ? undefined : { kind: 'apiKey', apiKey: key };
  }
  const username = pick(['account', 'username'], account.username, account.usernameEnv);
  const password = pick(['account', 'password'], account.password, account.passwordEnv);
  if (username === undefined || password === undefined) return undefined;
  const { targetAccountId } = account;
  return {
    kind: 'account',
    username,
    password,
    ...(targetAccountId === undefined ? {} : { targetAccountId }),
  };
}
