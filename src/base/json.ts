/** What a text says, as JSON; undefined if it is none. For what others wrote, or may have damaged: one bad entry must not hide the others. */
export function jsonOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
