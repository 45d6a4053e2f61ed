/** What a stored text says, as JSON; undefined if it is none: one damaged entry must not hide the others. */
export function storedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
