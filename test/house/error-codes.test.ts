import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { EXIT } from '../../src/base/exit-codes.js';
import {
  ERROR_CODES,
  type ErrorCode,
  isFailureCode,
  isProblemCode,
} from '../../src/campaign/errors/error-codes.js';
import { VolleyError } from '../../src/campaign/errors/errors.js';
import * as library from '../../src/index.js';
import { sourceFiles } from './sources.js';

/*
 * Errors have one set of codes: in problems, in the library, in `--json`, and about rows and messages of lists. The table of the codes is compared
 * with what the code can produce, and with what the OpenAPI document and the pages name.
 */

const TABLE = 'src/campaign/errors/error-codes.ts';
const CODES = Object.keys(ERROR_CODES) as ErrorCode[];
const sources = sourceFiles(['src'], ['.ts']).filter(
  ({ path }) => path !== TABLE && !path.includes('explorer'),
);

/** Where code writes the code of an error: as that of an error or of a refusal, of an item, or in the set of the codes of a result. */
const PRODUCED = [
  /new (?:Problem|Refused|CliError)\(\s*'(\w+)'/g,
  /\bcode(?::[^'\n=]*)? ?[=:] '(\w+)'/g,
  /\bitemCode: '(\w+)'/g,
  /(?:refused|refuse|invalid|itemOf|done|rowError)\([^;]*?'(\w+)'/g,
  /\? '(\w+)'/g,
  /: '(\w+)';/g,
  /return '(\w+)'/g,
  /_CODES = \[([^\]]+)\]/g,
];

function produced(text: string): string[] {
  return PRODUCED.flatMap((pattern) =>
    [...text.matchAll(pattern)].flatMap(([, ...found]) =>
      found.flatMap((one) => (one ?? '').split(/[\s',]+/)).filter((one) => one !== ''),
    ),
  );
}

describe('The codes of errors', () => {
  test('can all be produced', () => {
    const found = new Set(sources.flatMap(({ text }) => produced(text)));
    expect(CODES.filter((code) => !found.has(code))).toEqual([]);
  });

  test('are the only ones that an error of a command or of a response has', () => {
    const thrown = sources.flatMap(({ path, text }) =>
      [...text.matchAll(/new (?:Problem|Refused|CliError)\(\s*'(\w+)'/g)].map(
        ([, code = '']) => `${path} ${code}`,
      ),
    );
    expect(thrown.length).toBeGreaterThan(60);
    expect(thrown.filter((one) => !CODES.includes(one.split(' ')[1] as ErrorCode))).toEqual([]);
  });

  test('have a status and an exit code, or belong to a part of what was given', () => {
    for (const code of CODES) {
      const [status, exit, title] = ERROR_CODES[code];
      if (status !== null) expect([code, status >= 400, status < 600]).toEqual([code, true, true]);
      expect([code, exit === null || EXIT[exit] > 0]).toEqual([code, true]);
      expect(title).toMatch(/^[A-Z].*[^.]$/);
    }
    expect(CODES.filter(isProblemCode).length).toBeGreaterThan(30);
    expect(CODES.filter((code) => isProblemCode(code) && !isFailureCode(code))).toEqual([]);
  });

  test('are those of every error that the library exports', () => {
    const errors = Object.values(library).filter(
      (one): one is typeof library.ConfigError => typeof one === 'function' && one.prototype instanceof Error,
    );
    expect(errors.length).toBeGreaterThan(12);
    expect(
      errors.filter((one) => one !== (VolleyError as unknown) && !(one.prototype instanceof VolleyError)),
    ).toEqual([]);
    expect(new library.ConfigError([]).code).toBe('config');
  });

  test('are those that the OpenAPI document names', () => {
    const document = readFileSync(new URL('../golden/files/openapi.json', import.meta.url), 'utf8');
    const { components } = z
      .object({ components: z.object({ schemas: z.record(z.string(), z.unknown()) }) })
      .parse(JSON.parse(document));
    const codesOf = (schema: string) =>
      z
        .object({ properties: z.object({ code: z.object({ enum: z.array(z.string()) }) }) })
        .parse(components.schemas[schema]).properties.code.enum;
    expect(codesOf('Problem').toSorted()).toEqual(CODES.filter(isProblemCode).toSorted());
    expect(codesOf('ErrorItem').toSorted()).toEqual(CODES.toSorted());
    const described = [...document.matchAll(/"`(\w+)`: [A-Z]/g)].map(([, code]) => code);
    expect(described.filter((code) => !CODES.includes(code as ErrorCode))).toEqual([]);
  });

  test('are those in the table of docs/http.md', () => {
    const page = readFileSync(new URL('../../docs/http.md', import.meta.url), 'utf8');
    const rows = [...page.matchAll(/^\| (\d{3} `.*?) \|/gm)].map(([, cell = '']) => cell);
    expect(rows.length).toBeGreaterThan(7);
    for (const cell of rows) {
      let status = 0;
      for (const [, number, code = ''] of cell.matchAll(/(\d{3})? ?`(\w+)`/g)) {
        status = Number(number ?? status);
        expect([code, ERROR_CODES[code as ErrorCode]?.[0]]).toEqual([code, status]);
      }
    }
  });
});
