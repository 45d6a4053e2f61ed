/** Why a value that code or JSON may contain is no text; continues its name, which `name` puts before it. Null if it is one. */
export function notText(value: string, name = ''): string | null {
  if (value.includes('\0')) return `${name}contains a zero byte (NUL), which no text does`;
  if (!LONE_SURROGATE.test(value)) return null;
  return `${name}contains half of a surrogate pair, which is not a character`;
}

const LONE_SURROGATE = /\p{Surrogate}/u;
