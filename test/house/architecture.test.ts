import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { CAMPAIGN_STATE } from '../../src/campaign/states/campaign.js';
import { RECIPIENT_STATE } from '../../src/campaign/states/recipient.js';

const page = readFileSync('docs/architecture.md', 'utf8');
const rows = [page, readFileSync('CONTRIBUTING.md', 'utf8')].flatMap((text) =>
  text.split('\n').filter((line) => line.startsWith('| ')),
);

/** The states that the page's table with this first heading allows after each state. Remarks in parentheses are left out. */
function movesUnder(heading: string): Record<string, string[]> {
  const lines = page.split('\n');
  const from = lines.indexOf(`| ${heading} | may become |`) + 2;
  const to = lines.findIndex((line, at) => at >= from && !line.startsWith('|'));
  const words = (cell = ''): string[] => [...cell.matchAll(/`(\w+)`/g)].map(([, word = '']) => word);
  return Object.fromEntries(
    lines.slice(from, to).flatMap((line) => {
      const [, states, next = ''] = line.split('|');
      const [moves = ''] = next.split('. ');
      return words(states).map((state) => [state, words(moves).sort()]);
    }),
  );
}

const movesOf = (states: Record<string, { readonly next: readonly string[] }>): Record<string, string[]> =>
  Object.fromEntries(Object.entries(states).map(([state, { next }]) => [state, [...next].sort()]));

describe('docs/architecture.md', () => {
  test('lists every move of a recipient', () => {
    expect(movesUnder('recipient')).toEqual(movesOf(RECIPIENT_STATE));
  });

  test('lists every move of a campaign', () => {
    expect(movesUnder('campaign')).toEqual(movesOf(CAMPAIGN_STATE));
  });

  test('and CONTRIBUTING.md name a file without its folder only after that folder, or another file of it', () => {
    const missing = rows.flatMap((row) => {
      let folder = '';
      return [...row.matchAll(/`([\w./-]+\.(?:ts|lua)|(?:src|test)\/[\w/-]+\/)`/g)].flatMap(
        ([, path = '']) => {
          if (path.includes('/')) folder = path.endsWith('/') ? path : dirname(path);
          return existsSync(path.includes('/') ? path : join(folder, path)) ? [] : [path];
        },
      );
    });
    expect(missing).toEqual([]);
  });
});
