import { session } from './session.js';

/*
 * The campaign that a person has begun to write, kept in the browser until it is sent or the person signs out: its text and settings, but not its
 * list. Only sessions of the same key see it.
 */

const KEY = 'volley-draft';

/** Keeps a draft, instead of the last one. */
export function keepDraft(draft: object): void {
  localStorage.setItem(KEY, JSON.stringify({ by: session.peek()?.name, draft }));
}

/** The draft of this key; empty if there is none. */
export function keptDraft(): Readonly<Record<string, unknown>> {
  try {
    const { by, draft } = Object(JSON.parse(localStorage.getItem(KEY) ?? '{}'));
    return by === session.peek()?.name ? Object(draft) : {};
  } catch {
    return {};
  }
}

export const dropDraft = (): void => localStorage.removeItem(KEY);
