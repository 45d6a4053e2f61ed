import { useEffect, useRef, useState } from 'preact/hooks';
import { type ApiError, commandOf, type Output, offline, refusal } from '../../base/api.js';
import { problemOf } from '../../base/loaded.js';
import { type ChosenList, inWhole } from './list.js';

/*
 * Sends a campaign with its list as a form. `fetch` does not say how much of a body has been sent, so this uses XMLHttpRequest. The browser
 * reads the file while it sends it.
 */

type Operation = 'previewUpload' | 'uploadCampaign';

interface Upload {
  readonly campaign: object;
  readonly query?: Readonly<Record<string, string>>;
  readonly idempotencyKey?: string;
  readonly signal: AbortSignal;
  /** Called with how much has been sent, from 0 to 1. */
  onProgress?(part: number): void;
}

/** Runs an operation that takes a form. Rejects with an {@link ApiError}, or with an AbortError: then the server discards everything. */
export function upload<Op extends Operation>(
  operation: Op,
  list: Blob,
  { campaign, query = {}, idempotencyKey, signal, onProgress }: Upload,
): Promise<Output<Op>> {
  const { method, path } = commandOf(operation);
  const form = new FormData();
  form.append('campaign', new Blob([JSON.stringify(campaign)], { type: 'application/json' }));
  form.append('recipients', list, 'list.csv');
  return new Promise((resolve, reject: (error: ApiError | DOMException) => void) => {
    const request = new XMLHttpRequest();
    request.open(method, `${path}?${new URLSearchParams(query)}`);
    request.responseType = 'json';
    if (idempotencyKey !== undefined) request.setRequestHeader('idempotency-key', idempotencyKey);
    request.upload.onprogress = ({ loaded, total }) => onProgress?.(total === 0 ? 0 : loaded / total);
    request.onload = () => {
      if (request.status < 300) resolve(request.response as Output<Op>);
      else reject(refusal(request.status, request.response));
    };
    request.onerror = () => reject(offline());
    request.onabort = () => reject(new DOMException('The upload was cancelled.', 'AbortError'));
    signal.addEventListener('abort', () => request.abort());
    request.send(form);
    if (signal.aborted) request.abort();
  });
}

/** An upload of a whole list that a person follows and may cancel. */
export function useUpload<Op extends Operation>(operation: Op) {
  /** From 0 to 1 while the list is sent; null when nothing runs. */
  const [progress, setProgress] = useState<number | null>(null);
  /** Why it failed; its text is empty if a person has cancelled it. */
  const [failure, setFailure] = useState<{ readonly thrown: unknown; readonly text: string } | null>(null);
  const running = useRef<AbortController | null>(null);
  const cancel = (): void => running.current?.abort();
  useEffect(() => {
    // As when a page is closed: one that is kept for the way back would hold the connection.
    addEventListener('pagehide', cancel);
    return () => {
      removeEventListener('pagehide', cancel);
      cancel();
    };
  }, []);
  /** Uploads it, instead of what runs. Null if it fails or is cancelled. */
  const send = async (list: ChosenList, options: Omit<Upload, 'signal'>): Promise<Output<Op> | null> => {
    cancel();
    const controller = new AbortController();
    const { signal } = controller;
    running.current = controller;
    setFailure(null);
    setProgress(0);
    try {
      return await upload(operation, await inWhole(list, signal), {
        ...options,
        signal,
        onProgress: setProgress,
      });
    } catch (thrown) {
      if (running.current === controller) setFailure({ thrown, text: problemOf(thrown) });
      return null;
    } finally {
      if (running.current === controller) setProgress(null);
    }
  };
  return { progress, failure, send, cancel };
}
