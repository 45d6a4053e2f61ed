import Mustache from 'mustache';
import { nearest } from './nearest.js';

/** A surrogate without its other half: in code and JSON it can be written, in UTF-8 it cannot. */
export const HALF_A_PAIR = /\p{Surrogate}/u;

/** A campaign's text with its placeholders bound to the columns of one list. */
export interface Template {
  readonly text: string;
  /** Columns that the text uses, each once, in the order of the text. Empty: everybody gets the same text. */
  readonly placeholders: readonly string[];
  /** The first of those columns that is empty or blank in this row, or null. `values` are in the order of the columns. */
  missing(values: readonly string[]): string | null;
  /** The text for this row, byte for byte: nothing is escaped. Throws a RangeError if a value is missing. */
  render(values: readonly string[]): string;
}

/** A template, or what is wrong with the text, naming the place and what would be right. */
export type TemplateOutcome =
  | { readonly ok: true; readonly template: Template }
  | { readonly ok: false; readonly reason: string };

/** A piece of the text, or the place of a column whose value stands here. */
type Part = string | number;

const MEANING: Readonly<Record<string, string>> = {
  '#': 'a section',
  '^': 'an inverted section',
  '/': 'the end of a section',
  '>': 'a partial',
  '{': 'a triple brace',
  '&': 'an unescaped placeholder',
  '=': 'a change of delimiters',
  '!': 'a comment',
};

const OTHER_TAG = /\{\{\s*([#^/>{&=!])/;

/**
 * Reads `{{name}}` placeholders, spaces inside the braces allowed, with mustache's parser. Nothing else of mustache is
 * taken: sections and partials would send different people different texts that nobody has seen.
 * A column is found by its name; if there is none so spelled, by the one name that differs only in case.
 */
export function compileTemplate(text: string, columns: readonly string[]): TemplateOutcome {
  const other = OTHER_TAG.exec(text);
  if (other !== null) {
    const meaning = MEANING[other[1] ?? ''];
    return refuse(
      text,
      other.index,
      `${meaning}; only {{name}} placeholders can be used, and their values are never escaped`,
    );
  }
  const half = text.search(HALF_A_PAIR);
  if (half !== -1) return refuse(text, half, 'half of a surrogate pair, which is no letter');
  const tokens = parse(text);
  if (tokens === null)
    return refuse(text, text.lastIndexOf('{{'), 'a placeholder that is not closed with }}');
  const parts: Part[] = [];
  for (const [kind, value, start] of tokens) {
    if (kind === 'text') {
      parts.push(value);
      continue;
    }
    const found = columnOf(value, columns);
    if (typeof found === 'string') return refuse(text, start, found);
    parts.push(found);
  }
  return { ok: true, template: templateOf(text, parts, columns) };
}

type Token = readonly [kind: string, value: string, start: number];

/** Null if a placeholder is not closed. A writer of its own: the shared one would remember every text for ever. */
function parse(text: string): readonly Token[] | null {
  try {
    const spans: readonly (readonly unknown[])[] = new Mustache.Writer().parse(text);
    return spans.map((span) => [String(span[0]), String(span[1]), Number(span[2])]);
  } catch {
    return null;
  }
}

/** The place of the column, or what is wrong with the name. */
function columnOf(name: string, columns: readonly string[]): number | string {
  if (name === '') return 'a placeholder without a name';
  const exact = columns.indexOf(name);
  if (exact !== -1) return exact;
  const alike = columns.filter((column) => column.toLowerCase() === name.toLowerCase());
  const [only] = alike;
  if (only !== undefined && alike.length === 1) return columns.indexOf(only);
  if (alike.length > 1) return `{{${name}}}, which could be ${list(alike)}; spell it like one of them`;
  const likely = nearest(name, columns);
  const hint = likely === null ? '' : ` Did you mean {{${likely}}}?`;
  return `{{${name}}}, but the list has no such column.${hint} It has ${list(columns)}`;
}

function templateOf(text: string, parts: readonly Part[], columns: readonly string[]): Template {
  const used = [...new Set(parts.filter((part) => typeof part === 'number'))];
  const missing = (values: readonly string[]): string | null => {
    const empty = used.find((place) => (values[place] ?? '').trim() === '');
    return empty === undefined ? null : (columns[empty] ?? null);
  };
  return {
    text,
    placeholders: used.map((place) => columns[place] ?? ''),
    missing,
    render(values) {
      const empty = missing(values);
      if (empty !== null) throw new RangeError(`No value for {{${empty}}}`);
      if (used.length === 0) return text;
      let rendered = '';
      for (const part of parts) rendered += typeof part === 'string' ? part : values[part];
      return rendered;
    },
  };
}

function refuse(text: string, at: number, what: string): TemplateOutcome {
  return { ok: false, reason: `The text has, at character ${[...text.slice(0, at)].length + 1}, ${what}.` };
}

function list(names: readonly string[]): string {
  return names.map((name) => JSON.stringify(name)).join(', ');
}
