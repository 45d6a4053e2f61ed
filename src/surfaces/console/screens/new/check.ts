import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, type Output } from '../../base/api.js';
import { type Loaded, problemOf, useLoaded } from '../../base/loaded.js';
import { type ChosenList, inWhole } from './list.js';
import { upload } from './upload.js';

/*
 * The two checks of a list: its beginning at once, and all of it when a person has written the text.
 */

export type Preview = Output<'previewUpload'>;
type Campaign = Readonly<Record<string, unknown>>;

const PROBLEMS = '1000';
const TYPING_MS = 150;

/** Checks the beginning of a list whenever something changes that matters to it. Null without a list. */
export function useFirstCheck(list: ChosenList | null, campaign: Campaign): Loaded<Preview | null> {
  return useLoaded(`${list?.key} ${JSON.stringify(campaign)}`, async (signal) => {
    if (list === null) return null;
    await new Promise((resolve) => setTimeout(resolve, TYPING_MS));
    const query = { partial: 'true', problems: PROBLEMS };
    const checked = (message: unknown) =>
      upload('previewUpload', {
        campaign: { ...campaign, message },
        list: new Blob([list.head]),
        query,
        signal,
      });
    // A text that is not finished does not hide what is wrong with the numbers.
    return checked(campaign['message'] || '-').catch((error: unknown) => {
      if (error instanceof ApiError && error.of('message') !== undefined) return checked('-');
      throw error;
    });
  });
}

/** What a check of the whole list has found, and for which campaign. */
interface Checked {
  readonly preview: Preview | null;
  readonly error: string | null;
  /** From 0 to 1 while the list is sent; null when nothing runs. */
  readonly progress: number | null;
  /** The campaign that was checked, as a text. */
  readonly of: string;
}

const NOTHING: Checked = { preview: null, error: null, progress: null, of: '' };
/** Short lists are checked again by themselves. */
const SHORT_BYTES = 1_000_000;
const AFTER_MS = 600;

/** Checks a whole list, with its progress. `isReady`: whether there is enough to check. */
export function useCheck(list: ChosenList | null, campaign: Campaign, isReady: boolean) {
  const [checked, setChecked] = useState(NOTHING);
  const running = useRef<AbortController | null>(null);
  const asked = JSON.stringify(campaign);
  const set = (changes: Partial<Checked>): void => setChecked((before) => ({ ...before, ...changes }));
  const run = async (): Promise<void> => {
    if (list === null) return;
    running.current?.abort();
    const controller = new AbortController();
    running.current = controller;
    set({ error: null, progress: 0 });
    try {
      const preview = await upload('previewUpload', {
        campaign,
        list: await inWhole(list, controller.signal),
        query: { problems: PROBLEMS, sentBefore: 'count' },
        signal: controller.signal,
        onProgress: (progress) => set({ progress }),
      });
      setChecked({ preview, error: null, progress: null, of: asked });
    } catch (thrown) {
      if (running.current === controller) set({ error: problemOf(thrown), progress: null });
    }
  };
  useEffect(() => setChecked(NOTHING), [list]);
  useEffect(() => {
    if (list === null || !isReady || list.file.size > SHORT_BYTES) return undefined;
    const timer = setTimeout(run, AFTER_MS);
    return () => clearTimeout(timer);
  }, [list, asked, isReady]);
  useEffect(() => () => running.current?.abort(), []);
  return { ...checked, isCurrent: checked.of === asked, run, cancel: () => running.current?.abort() };
}
