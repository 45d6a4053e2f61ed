import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { CONFORMANCE_ROWS } from '../tools/conformance/rows.js';

const rows = readFileSync('test/interface/README.md', 'utf8')
  .split('\n')
  .filter((line) => /^\| (?!the interface \|)/.test(line))
  .map((line) => line.slice(2, -2).split(' | '));

describe('Each row of test/interface/README.md', () => {
  test('has its fact, its code on both ends, and its tests', () => {
    expect(rows.length).toBeGreaterThan(60);
    for (const cells of rows) {
      expect(cells).toHaveLength(4);
      for (const cell of cells) expect(cell.trim(), cells[0]).not.toBe('');
    }
  });

  test('names code that exists', () => {
    const named = rows.flatMap(([, client = '', simulator = '']) =>
      `${client}<br>${simulator}`.split('<br>'),
    );
    const missing = named.filter((cell) => !existsSync(/^`(src\/[^`]+)`$/.exec(cell)?.[1] ?? ''));
    expect(missing).toEqual([]);
  });

  test('names tests that exist', () => {
    const missing = rows
      .flatMap(([, , , tests = '']) => tests.split('<br>'))
      .filter((cell) => {
        const [, path = '', title = ''] = /^`(test\/[^`]+)`: (.+)$/.exec(cell) ?? [];
        return !existsSync(path) || !readFileSync(path, 'utf8').replaceAll("\\'", "'").includes(title);
      });
    expect(missing).toEqual([]);
  });
});

describe('Each check of a conformance test', () => {
  test('has a name of its own', () => {
    const names = CONFORMANCE_ROWS.map(({ name }) => name);
    expect(names).toEqual([...new Set(names)]);
  });

  test('follows a row of test/interface/README.md, or a rule that only version 3 documents', () => {
    const facts = rows.map(([fact]) => fact);
    const documented = CONFORMANCE_ROWS.flatMap((row) => row.documented ?? []);
    expect(documented.length).toBeGreaterThan(15);
    expect(documented.filter((fact) => !facts.includes(fact))).toEqual([]);
  });
});
