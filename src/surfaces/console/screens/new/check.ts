import { useEffect, useRef, useState } from 'preact/hooks';
import { EncodingError } from '../../../../campaign/list-encoding.js';
import { ApiError } from '../../base/api.js';
import type { Preview } from './draft.js';
import { type ChosenList, inWhole } from './list.js';
import { upload } from './upload.js';

/*
 * The two checks of a list: its beginning at once, and all of it when a person has written the text.
 */

/** What a check has found, and for which campaign. */
export interface Checked {
  readonly preview: Preview | null;
  readonly error: string | null;
  /** From 0 to 1 while the list is sent; null when nothing runs. */
  readonly progress: number | null;
  /** The campaign that was checked, as a text. */
  readonly of: string;
}

const NOTHING: Checked = { preview: null, error: null, progress: null, of: '' };

/** What went wrong, for people; undefined if it was cancelled. Anything else is thrown. */
export function problemOf(error: unknown): string | undefined {
  if (error instanceof DOMException && error.name === 'AbortError') return undefined;
  if (error instanceof ApiError || error instanceof EncodingError) return error.message;
  if (error instanceof DOMException && error.name === 'NotReadableError')
    return 'The file has changed or was removed since you chose it. Choose it again.';
  throw error;
}

/** Checks the beginning of a list whenever something changes that matters to it. */
export function useFirstCheck(list: ChosenList | null, campaign: string): Checked {
  const [checked, setChecked] = useState(NOTHING);
  useEffect(() => {
    if (list === null) return setChecked(NOTHING);
    const controller = new AbortController();
    const timer = setTimeout(() => {
      upload('previewUpload', {
        campaign: JSON.parse(campaign),
        list: new Blob([list.head]),
        query: { partial: 'true', problems: '1000' },
        signal: controller.signal,
      })
        .then((preview) => setChecked({ preview, error: null, progress: null, of: campaign }))
        .catch((thrown: unknown) => {
          const error = problemOf(thrown);
          if (error !== undefined) setChecked((before) => ({ ...before, error, of: campaign }));
        });
    }, 150);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [list, campaign]);
  return checked;
}

/** Short lists are checked again by themselves. */
const SHORT_BYTES = 1_000_000;
const AFTER_MS = 600;

/** Checks a whole list, with its progress. `isReady`: whether there is enough to check. */
export function useCheck(list: ChosenList | null, campaign: string, isReady: boolean) {
  const [checked, setChecked] = useState(NOTHING);
  const running = useRef<AbortController | null>(null);
  const run = (): void => {
    if (list === null) return;
    running.current?.abort();
    const controller = new AbortController();
    running.current = controller;
    setChecked((before) => ({ ...before, error: null, progress: 0 }));
    const { signal } = controller;
    inWhole(list, signal)
      .then((body) =>
        upload('previewUpload', {
          campaign: JSON.parse(campaign),
          list: body,
          query: { problems: '1000', sentBefore: 'count' },
          signal,
          onProgress: (progress) => setChecked((before) => ({ ...before, progress })),
        }),
      )
      .then((preview) => setChecked({ preview, error: null, progress: null, of: campaign }))
      .catch((thrown: unknown) => {
        if (running.current !== controller) return;
        const error = problemOf(thrown) ?? null;
        setChecked((before) => ({ ...before, error, progress: null }));
      });
  };
  useEffect(() => setChecked(NOTHING), [list]);
  useEffect(() => {
    if (list === null || !isReady || list.file.size > SHORT_BYTES) return undefined;
    const timer = setTimeout(run, AFTER_MS);
    return () => clearTimeout(timer);
  }, [list, campaign, isReady]);
  useEffect(() => () => running.current?.abort(), []);
  return { ...checked, isCurrent: checked.of === campaign, run, cancel: () => running.current?.abort() };
}
