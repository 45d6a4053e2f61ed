import { InputError } from '../../campaign/errors/errors.js';

/** Values by the names of their placeholders. A name without a value belongs to an optional parameter that is not set. */
export type Values = Readonly<Record<string, string | number | boolean | undefined>>;

const PLACEHOLDER = /\{([^{}]*)\}/g;
const WHOLE_PLACEHOLDER = /^\{([^{}]*)\}$/;

/** The names of the placeholders in a text, such as `id` in `/cdrs/{id}`. */
export function placeholdersIn(text: string): string[] {
  return [...text.matchAll(PLACEHOLDER)].map(([, name = '']) => name);
}

/** Whether a text has a brace that belongs to no placeholder. */
export function hasStrayBrace(text: string): boolean {
  return /[{}]/.test(text.replace(PLACEHOLDER, ''));
}

/** The texts of a JSON template, and where in it they are. Names of members are not templates. */
export function textsIn(template: unknown, at: readonly string[] = []): { at: string[]; text: string }[] {
  if (typeof template === 'string') return [{ at: [...at], text: template }];
  if (typeof template !== 'object' || template === null) return [];
  return Object.entries(template).flatMap(([name, value]) => textsIn(value, [...at, name]));
}

/** A path and query with every value URL-escaped. A pair of the query is left out if its parameter is not set. */
export function fillPath(template: string, values: Values): string {
  const [path = '', query] = template.split(/\?(.*)/s);
  const filledPath = path
    .split('/')
    .map((segment) => {
      const filled = fill(segment, values, escapeUrl);
      // A dot segment would change the path, escaped or not.
      if (segment !== filled && /^(\.|%2e){1,2}$/i.test(filled))
        throw unusable(segment, 'a dot segment of the path');
      return filled;
    })
    .join('/');
  const pairs = query?.split('&').filter((pair) => isSet(pair, values)) ?? [];
  const filledPairs = pairs.map((pair) => fill(pair, values, escapeUrl)).join('&');
  return filledPairs === '' ? filledPath : `${filledPath}?${filledPairs}`;
}

/** Headers with their values. Throws an InputError for a value with CR, LF, or another character that no header may contain. */
export function fillHeaders(
  templates: Readonly<Record<string, string>>,
  values: Values,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(templates).map(([name, template]) => [
      name.toLowerCase(),
      fill(template, values, (value, placeholder) => {
        if (!HEADER_TEXT.test(value))
          throw unusable(`{${placeholder}}`, 'a line break or another character that no header may contain');
        return value;
      }),
    ]),
  );
}

/** The text of a header: printable ASCII, spaces, and tabs. */
export const HEADER_TEXT = /^[\t\x20-\x7e]*$/;

/** A JSON text. A member is left out if its parameter is not set; a text that is one placeholder keeps the type of its value. */
export function fillJson(template: unknown, values: Values): string {
  return JSON.stringify(template, (_name, value: unknown) => {
    // Leaves out what is not set from arrays, too: there, JSON would write null.
    if (Array.isArray(value)) return value.filter((item) => isSet(item, values));
    if (typeof value !== 'string') return value;
    if (!isSet(value, values)) return undefined;
    const [, name] = WHOLE_PLACEHOLDER.exec(value) ?? [];
    return name === undefined ? fill(value, values, (text) => text) : values[name];
  });
}

/** A body in the format of HTML forms. A field is left out if its parameter is not set. */
export function fillForm(template: Readonly<Record<string, string>>, values: Values): string {
  const fields = Object.entries(template).filter(([, value]) => isSet(value, values));
  return new URLSearchParams(
    fields.map(([name, value]): [string, string] => [name, fill(value, values, (text) => text)]),
  ).toString();
}

/** Whether every placeholder of a template has a value. */
function isSet(template: unknown, values: Values): boolean {
  return typeof template !== 'string' || placeholdersIn(template).every((name) => values[name] !== undefined);
}

function fill(text: string, values: Values, write: (value: string, name: string) => string): string {
  return text.replace(PLACEHOLDER, (_all, name: string) => {
    const value = values[name];
    if (value === undefined) throw new TypeError(`the placeholder {${name}} has no value`);
    return write(String(value), name);
  });
}

function escapeUrl(value: string, name: string): string {
  if (/\p{Surrogate}/u.test(value)) throw unusable(`{${name}}`, 'half a character');
  if (value === '') throw unusable(`{${name}}`, 'nothing');
  return encodeURIComponent(value).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function unusable(where: string, what: string): InputError {
  return new InputError(`${where} would become ${what}; nothing was sent`);
}
