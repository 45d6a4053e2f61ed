import { signal } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError } from './api.js';
import { texts } from './texts.js';

/** How many commands this page has run: what was loaded before is loaded again after each. */
export const commandsRun = signal(0);

export interface Loaded<Data> {
  /** The newest that was loaded, also while it is loaded again; null: nothing yet. */
  readonly data: Data | null;
  readonly error: string | null;
  /** What `error` is about. */
  readonly thrown: unknown;
  readonly isBusy: boolean;
  /** The key of `data`. */
  readonly key: string | null;
}

const NOTHING = { data: null, error: null, thrown: null, isBusy: true, key: null };

/** What was loaded for a key. It is loaded again when the key changes; what another key asked for is aborted. */
export function useLoaded<Data>(key: string, load: (signal: AbortSignal) => Promise<Data>): Loaded<Data> {
  const [loaded, setLoaded] = useState<Loaded<Data>>(NOTHING);
  const run = commandsRun.value;
  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    setLoaded((before) => ({ ...before, isBusy: true }));
    load(signal)
      .then((data) => signal.aborted || setLoaded({ ...NOTHING, data, isBusy: false, key }))
      .catch((thrown: unknown) => {
        if (signal.aborted) return;
        const error = problemOf(thrown);
        setLoaded((before) => ({ ...before, error, thrown, isBusy: false }));
      });
    return () => controller.abort();
  }, [key, run]);
  return loaded;
}

const SLOWLY_MS = 5_000;

/** A value that changes at most every five seconds, for what is loaded again because of it. */
export function useSlowly<Value>(value: Value): Value {
  const [slow, setSlow] = useState(value);
  const newest = useRef(value);
  newest.current = value;
  useEffect(() => {
    const timer = setInterval(() => setSlow(newest.current), SLOWLY_MS);
    return () => clearInterval(timer);
  }, []);
  return slow;
}

/** What went wrong, for people; empty if it was cancelled. A fault of the page itself is thrown again. */
export function problemOf(error: unknown): string {
  const { name, message } = error as Error;
  if (name === 'AbortError') return '';
  if (name === 'NotReadableError') return texts.fileChanged;
  if (error instanceof ApiError || name === 'EncodingError') return message;
  throw error;
}
