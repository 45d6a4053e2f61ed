import { useEffect, useState } from 'preact/hooks';
import { ApiError, type Output } from '../../base/api.js';
import { type Loaded, useLoaded } from '../../base/loaded.js';
import { type ChosenList, SHORT_BYTES } from './list.js';
import { upload, useUpload } from './upload.js';

export type Preview = Output<'previewUpload'>;
type Campaign = Readonly<Record<string, unknown>>;

const PROBLEMS = '1000';
const TYPING_MS = 150;

/**
 * Checks the beginning of a list whenever something changes that matters to it. Null without a list. `findsCountries`: whether the server looks
 * for a column with countries.
 */
export function useFirstCheck(
  list: ChosenList | null,
  campaign: Campaign,
  findsCountries = false,
): Loaded<Preview | null> {
  // A long workbook is read once, whatever is written meanwhile.
  const isLong = list !== null && typeof list.head !== 'string' && !list.isWhole;
  const asked = isLong ? { ...campaign, message: '-' } : campaign;
  return useLoaded(`${list?.key} ${JSON.stringify(asked)} ${findsCountries}`, async (signal) => {
    if (list === null) return null;
    await new Promise((resolve) => setTimeout(resolve, TYPING_MS));
    const part = new Blob([list.head]);
    const query = { partial: 'true', problems: PROBLEMS, findsCountries: String(findsCountries) };
    const checked = (message: unknown) =>
      upload('previewUpload', part, { campaign: { ...asked, message }, query, signal });
    // A text that is not finished does not hide what is wrong with the numbers.
    return checked(asked['message'] || '-').catch((error: unknown) => {
      if (error instanceof ApiError && error.of('message') !== undefined) return checked('-');
      throw error;
    });
  });
}

/** What a check of the whole list has found, and for which campaign, as a text. */
const NOTHING: { readonly preview: Preview | null; readonly of: string } = { preview: null, of: '' };
const AFTER_MS = 600;

/** Checks a whole list, with its progress. `isReady`: whether there is enough to check. */
export function useCheck(list: ChosenList | null, campaign: Campaign, isReady: boolean) {
  const [checked, setChecked] = useState(NOTHING);
  const { send, ...uploading } = useUpload('previewUpload');
  const asked = JSON.stringify(campaign);
  const run = async (): Promise<void> => {
    if (list === null) return;
    const preview = await send(list, { campaign, query: { problems: PROBLEMS, sentBefore: 'count' } });
    if (preview !== null) setChecked({ preview, of: asked });
  };
  useEffect(() => setChecked(NOTHING), [list]);
  useEffect(() => {
    if (list === null || !isReady || list.file.size > SHORT_BYTES) return undefined;
    const timer = setTimeout(run, AFTER_MS);
    return () => clearTimeout(timer);
  }, [list, asked, isReady]);
  return { ...checked, ...uploading, isCurrent: checked.of === asked, run };
}
