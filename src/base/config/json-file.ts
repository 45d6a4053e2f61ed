import { type Node, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser';

/** A JSON file that people write. */
type JsonFile =
  | { readonly root: Node; readonly problem?: never; lineOf(offset: number): number }
  | { readonly root?: never; readonly problem: string };

/** Parses strict JSON, after a byte order mark if there is one. A problem names the file and the line. */
export function parseJsonFile(file: string, contents: string): JsonFile {
  const json = contents.replace(/^\uFEFF/, '');
  const errors: ParseError[] = [];
  const root = parseTree(json, errors, { disallowComments: true, allowTrailingComma: false });
  const lineOf = (offset: number): number => json.slice(0, offset).split('\n').length;
  const [error] = errors;
  if (root !== undefined && error === undefined) return { root, lineOf };
  const code = error === undefined ? 'ValueExpected' : printParseErrorCode(error.error);
  const reason = code.replace(/(?!^)[A-Z]/g, (letter) => ` ${letter}`).toLowerCase();
  return { problem: `${file}, line ${lineOf(error?.offset ?? 0)}: not valid JSON (${reason})` };
}
