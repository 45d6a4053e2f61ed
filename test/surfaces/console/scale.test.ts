import { expect, test } from 'vitest';
import { type SourceFile, sourceFiles } from '../../house/sources.js';

/*
 * Every space in the console is a step of one scale, and every size of a text a step of another. base/theme.css has both. What is drawn, borders,
 * and the widths of columns have sizes of their own.
 */

const FILES = sourceFiles(['src/surfaces/console'], ['.css', '.tsx']);

interface Declaration {
  readonly property: string;
  readonly value: string;
  /** `src/surfaces/console/parts/parts.css:40 gap: 8px`. */
  readonly place: string;
}

const blank = (text: string): string => text.replace(/[^\n]/g, ' ');

/** What a stylesheet declares, or what the `style` attributes of a component do. */
function declarationsIn({ path, text }: SourceFile): Declaration[] {
  const isStylesheet = path.endsWith('.css');
  const code = isStylesheet ? text.replace(/\/\*.*?\*\//gs, blank) : inlineStyles(text);
  const found = code.matchAll(/(?<![\w-])(?<property>[\w-]+)\s*:\s*(?<value>[^;{}]+);/g);
  return [...found].map(({ index, groups }) => {
    const { property = '', value = '' } = groups ?? {};
    const line = code.slice(0, index).split('\n').length;
    return { property, value: value.trim(), place: `${path}:${line} ${property}: ${value.trim()}` };
  });
}

const MEMBER = /(\w+):\s*(`[^`]*`|'[^']*'|[^,`'}]+),?/g;

/** The `style` attributes of a component as CSS, where they stand; a number counts pixels, and what is computed counts as 0. */
const inlineStyles = (text: string): string =>
  text.replace(/(?<style>style=\{\{.*?\}\})|[^\n]/gs, (char, style?: string) => {
    const members = style?.replace(/\$\{.*?\}/gs, '0').matchAll(MEMBER) ?? [];
    const rules = [...members].map(([, name = '', value = '']) => {
      const property = name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
      return `${property}: ${value
        .trim()
        .replace(/^\d*[1-9]\d*$/, '$&px')
        .replace(/[`']/g, '')};`;
    });
    return rules.join('') + '\n'.repeat(char.split('\n').length - 1);
  });

const DECLARATIONS = FILES.flatMap(declarationsIn);
const steps = (name: string): Declaration[] =>
  DECLARATIONS.filter(({ property }) => new RegExp(`^--${name}-\\d$`).test(property));
const remOf = ({ value }: Declaration): number => Number(/^([\d.]+)rem$/.exec(value)?.[1]);
const isUsed = ({ property }: Declaration): boolean =>
  DECLARATIONS.some(({ value }) => value.includes(`var(${property})`));

test.each([
  ['space', 7, 0.25],
  ['type', 6, 0.125],
])('The scale of %s has at most %i steps, each a multiple of %f rem and used', (name, most, unit) => {
  const scale = steps(name);
  const sizes = scale.map(remOf);
  expect(sizes.length).toBeGreaterThan(1);
  expect(sizes.length).toBeLessThanOrEqual(most);
  expect(sizes).toEqual([...new Set(sizes)].sort((one, other) => one - other));
  expect(sizes.filter((size) => !Number.isInteger(size / unit))).toEqual([]);
  expect(scale.filter((step) => !isUsed(step)).map(({ place }) => place)).toEqual([]);
});

/** Removes every step of the scale from a value. */
const withoutSteps = (value: string, name: string): string =>
  steps(name).reduce((rest, { property }) => rest.replaceAll(`var(${property})`, ''), value);

const SPACE =
  /^(?:(?:scroll-)?(?:margin|padding)(?:-.+)?|inset(?:-.+)?|(?:row-|column-)?gap|top|right|bottom|left)$/;
/** Shares of what is around, factors of steps, and what the browser finds. `--side` is what a wide window leaves beside a page. */
const FREE = /^(?:auto|inherit|calc|min|max|var\(--side\)|\d+(?:\.\d+)?%?(?![\w.])|[\s(),+*/-])*$/;

test('Every margin, padding, gap, and inset is made of steps of the scale', () => {
  const spaces = DECLARATIONS.filter(({ property }) => SPACE.test(property));
  expect(spaces.length).toBeGreaterThan(50);
  expect(spaces.some(({ place }) => place.includes('.tsx:'))).toBe(true);
  const others = spaces.filter(({ value }) => !FREE.test(withoutSteps(value, 'space')));
  expect(others.map(({ place }) => place)).toEqual([]);
});

test('Every text has a size of the scale', () => {
  const sizes = DECLARATIONS.filter(({ property }) => property === 'font-size' || property === 'font');
  expect(sizes.length).toBeGreaterThan(3);
  // Of the short form, the height of its lines and its families follow.
  const others = sizes.filter(
    ({ value }) => !/^(?:inherit|\/.*)?$/s.test(withoutSteps(value, 'type').trim()),
  );
  expect(others.map(({ place }) => place)).toEqual([]);
});
