import type { LiveItem } from '../../campaign/views/live-views.js';

/** What a watcher wants to see. */
export interface LiveWanted {
  /** The lanes that it may see; undefined: all. */
  readonly allowed: readonly string[] | undefined;
  /** In detail. What is not there, or not allowed, is left out. */
  readonly lanes: readonly string[];
  /** In detail, by their ids. */
  readonly campaigns: readonly string[];
}

/** An item as it is written. An item about something else has another `key`. */
export interface LiveText {
  readonly type: LiveItem['type'];
  readonly key: string;
  readonly json: string;
}

/** An item as it is written. `about`: what it is about, if there are several of its type. */
export function textOf({ type, data }: LiveItem, about = ''): LiveText {
  return { type, key: `${type} ${about}`, json: JSON.stringify(data) };
}
