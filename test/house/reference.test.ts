import { expect, test } from 'vitest';
import { OPERATIONS } from '../../src/operations/index.js';
import { isThere, type Missing, type Operation } from '../../src/operations/operation.js';

const HEADER = `# Operations by name

Each line has the route of an operation below \`/v1\` of the [HTTP API](http.md), the [scope](http.md#api-keys) that an API key needs, and its
[command](command-line.md). Parentheses name what comes closest. \`/docs\` of the server and \`volley COMMAND --help\` describe each operation.
\`npx vitest run test/house/reference.test.ts -u\` generates this page from the rows in \`src/operations/\`.
`;

/** What an operation has on a surface, or what its row names instead. */
function placeOf(place: string | Missing): string {
  if (typeof place === 'string') return place;
  const other = /`(?:volley )?([^`]+)`/.exec(place.because)?.[1];
  return other === undefined ? '–' : `(${other})`;
}

/** What the page says of an operation: its route, its scope, and its command. */
function cellsOf({ http, cli, scope }: Operation): [route: string, scope: string, command: string] {
  const [method = '', path = ''] = placeOf(http).split(' ');
  const command = placeOf(isThere(cli) ? cli.usage.replace(/ [<[].*/, '') : cli);
  return [`${method.padEnd(6)} ${path}`, scope ?? '–', command];
}

function page(): string {
  const [widest, wide] = [0, 1].map((column) =>
    Math.max(...OPERATIONS.map((operation) => cellsOf(operation)[column]?.length ?? 0)),
  );
  const tags = new Set(OPERATIONS.map(({ tag }) => tag));
  const groups = [...tags].map((tag) => {
    const rows = OPERATIONS.filter((operation) => operation.tag === tag)
      .map(cellsOf)
      .map(
        ([route, scope, command]) => `${route.padEnd(widest ?? 0)}  ${scope.padEnd(wide ?? 0)}  ${command}`,
      );
    return `## ${tag}\n\n\`\`\`text\n${rows.join('\n')}\n\`\`\`\n`;
  });
  return [HEADER, ...groups].join('\n');
}

test('docs/reference.md is the page that the rows of the operations generate', async () => {
  await expect(page()).toMatchFileSnapshot('../../docs/reference.md');
});
