import { expect, test } from 'vitest';
import { OPERATIONS } from '../../src/operations/index.js';
import { isThere, type Missing, type Operation } from '../../src/operations/operation.js';

const HEADER = `# Operations by name

Every operation has a route of the [HTTP API](http.md) below \`/v1\`, which needs an API key with the [scope](http.md#api-keys), a
[command](command-line.md), or both; parentheses name what comes closest. \`volley COMMAND --help\` and \`/docs\` of
the server describe each. \`npx vitest run test/house/reference.test.ts -u\` generates this page from the rows in \`src/operations/\`.
`;

/** What an operation has on a surface, or what its row names instead. */
function cell(place: string | Missing): string {
  if (typeof place === 'string') return `\`${place}\``;
  const other = /`(?:volley )?([^`]+)`/.exec(place.because)?.[1];
  return other === undefined ? '–' : `(\`${other}\`)`;
}

/** What the page says of an operation: its route, its command, and its scope. */
function rowOf({ http, cli, scope }: Operation): string {
  const command = isThere(cli) ? cli.usage.replace(/ [<[].*/, '') : cli;
  return `| ${cell(http)} | ${cell(command)} | ${scope ?? '–'} |`;
}

function page(): string {
  const tags = new Set(OPERATIONS.map(({ tag }) => tag));
  const tables = [...tags].map((tag) => {
    const rows = OPERATIONS.filter((operation) => operation.tag === tag).map(rowOf);
    return `## ${tag}\n\n| route | command | scope |\n|---|---|---|\n${rows.join('\n')}\n`;
  });
  return [HEADER, ...tables].join('\n');
}

test('docs/reference.md is the page that the rows of the operations generate', async () => {
  await expect(page()).toMatchFileSnapshot('../../docs/reference.md');
});
