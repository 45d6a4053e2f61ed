import Mustache from 'mustache';
import { namesMeant, nearest, quotedList } from '../errors/nearest.js';

/** A campaign's message, compiled for the columns of one list. */
export interface Template {
  readonly text: string;
  /** Columns that the message uses, each once, in the order of the message. If empty, all recipients get the same text. */
  readonly placeholders: readonly string[];
  /** The first of those columns that is blank in this row, or null. `values` are in the order of the list's columns. */
  missing(values: readonly string[]): string | null;
  /** The text for this row; values are not escaped. Throws a RangeError if a value is missing. */
  render(values: readonly string[]): string;
  /** How many characters the text for this row has. */
  length(values: readonly string[]): number;
  /** 53 bits of a hash of the text for this row. Rows with the same text have the same digest. */
  digest(values: readonly string[]): number;
}

/** A template, or why the message is invalid: the reason names the position and what would be right. */
type TemplateOutcome =
  | { readonly ok: true; readonly template: Template }
  | { readonly ok: false; readonly reason: string };

/** A piece of the message, or the position of the column whose value goes here. */
type Part = string | number;

const TAG_NAMES: Readonly<Record<string, string>> = {
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
 * Compiles `{{name}}` placeholders with mustache's parser; spaces inside the braces are allowed. Other tags are refused:
 * sections and partials would send texts that the preview does not show.
 * A placeholder means the column of exactly that name, or else the only column whose name differs in case alone.
 */
export function compileTemplate(text: string, columns: readonly string[]): TemplateOutcome {
  const other = OTHER_TAG.exec(text);
  if (other !== null) {
    const tag = TAG_NAMES[other[1] ?? ''];
    return refuse(
      text,
      other.index,
      `${tag}; use only {{name}} placeholders, whose values are never escaped`,
    );
  }
  const tokens = parse(text);
  if (tokens === null)
    return refuse(text, text.lastIndexOf('{{'), 'a placeholder that is not closed with }}');
  const parts: Part[] = [];
  for (const [kind, value, start] of tokens) {
    if (kind === 'text') {
      parts.push(value);
      continue;
    }
    const column = columnOf(value, columns);
    if (typeof column === 'string') return refuse(text, start, column);
    parts.push(column);
  }
  return { ok: true, template: templateOf(text, parts, columns) };
}

const PLACEHOLDER = /\{\{\s*([^{}]*?)\s*\}\}/g;

/** The names in the `{{name}}` placeholders of a text whose values are not known yet, each once, or why the text is invalid. */
export function placeholdersOf(
  text: string,
):
  | { readonly ok: true; readonly names: readonly string[] }
  | { readonly ok: false; readonly reason: string } {
  const names = [...new Set([...text.matchAll(PLACEHOLDER)].map(([, name = '']) => name))];
  const compiled = compileTemplate(text, names);
  return compiled.ok ? { ok: true, names: compiled.template.placeholders } : compiled;
}

/** Something that looks like a placeholder of another program, and the column that it probably means. */
interface LikelyPlaceholder {
  /** As it is in the message: `{name}`. */
  readonly written: string;
  readonly meant: string;
}

/** `{name}` with any name; `[name]`, `<name>`, `%name%`, and `«name»` are ordinary text unless a column has the name. */
const ONE_BRACE = /(?<!\{)\{\s*([\p{L}_][^{}\n]{0,59}?)\s*\}/gu;
const OTHER_MARKS = /\[([^[\]\n]{1,60})\]|<([^<>\n]{1,60})>|%([^%\n]{1,60})%|«([^«»\n]{1,60})»/gu;

/** The parts of a message that look like placeholders but are sent as they are, each once. */
export function likelyPlaceholders(text: string, columns: readonly string[]): LikelyPlaceholder[] {
  // Most messages have none of them.
  if (!/[{[<%«]/.test(text)) return [];
  const suggestions = new Map<string, string>();
  for (const [written, name = ''] of text.matchAll(ONE_BRACE)) {
    suggestions.set(written, namesMeant(name, columns)[0] ?? nearest(name, columns) ?? name);
  }
  for (const [written, ...names] of text.matchAll(OTHER_MARKS)) {
    const [column] = namesMeant((names.find((name) => name !== undefined) ?? '').trim(), columns);
    if (column !== undefined) suggestions.set(written, column);
  }
  return [...suggestions].map(([written, meant]) => ({ written, meant }));
}

type Token = readonly [kind: string, value: string, start: number];

/** Null if a placeholder is not closed. Each call has its own writer: mustache's shared one caches every text for ever. */
function parse(text: string): readonly Token[] | null {
  if (!text.includes('{{')) return [['text', text, 0]];
  try {
    const spans: readonly (readonly unknown[])[] = new Mustache.Writer().parse(text);
    return spans.map((span) => [String(span[0]), String(span[1]), Number(span[2])]);
  } catch {
    return null;
  }
}

/** The position of the column, or why the placeholder is invalid. */
function columnOf(name: string, columns: readonly string[]): number | string {
  if (name === '') return 'a placeholder without a name';
  const meant = namesMeant(name, columns);
  const [only] = meant;
  if (only !== undefined && meant.length === 1) return columns.indexOf(only);
  if (meant.length > 1)
    return `{{${name}}}, which could mean ${quotedList(meant)}; write one of them exactly`;
  const likely = nearest(name, columns);
  const hint = likely === null ? '' : ` Did you mean {{${likely}}}?`;
  return `{{${name}}}, but the list has no such column.${hint} The columns are ${quotedList(columns)}`;
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
    length: (values) =>
      parts.reduce<number>(
        (sum, part) => sum + (typeof part === 'string' ? part : (values[part] ?? '')).length,
        0,
      ),
    digest(values) {
      let [high, low] = [0xdead_beef, 0x41c6_ce57];
      for (const part of parts) {
        const piece = typeof part === 'string' ? part : (values[part] ?? '');
        for (let at = 0; at < piece.length; at++) {
          const unit = piece.charCodeAt(at);
          high = Math.imul(high ^ unit, 0x9e37_79b1);
          low = Math.imul(low ^ unit, 0x5f35_6495);
        }
      }
      high = Math.imul(high ^ (high >>> 16), 0x85eb_ca6b) ^ Math.imul(low ^ (low >>> 13), 0xc2b2_ae35);
      low = Math.imul(low ^ (low >>> 16), 0x85eb_ca6b) ^ Math.imul(high ^ (high >>> 13), 0xc2b2_ae35);
      return (low & 0x1f_ffff) * 0x1_0000_0000 + (high >>> 0);
    },
  };
}

function refuse(text: string, at: number, problem: string): TemplateOutcome {
  const character = [...text.slice(0, at)].length + 1;
  return { ok: false, reason: `At character ${character}, the message has ${problem}.` };
}
