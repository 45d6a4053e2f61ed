import { type ApiError, commandOf, type Output, offline, refusal } from '../../base/api.js';

/*
 * Sends a campaign with its list as a form. `fetch` does not say how much of a body has been sent, so this uses XMLHttpRequest. The browser
 * reads the file while it sends it.
 */

interface Upload {
  readonly campaign: object;
  readonly list: Blob;
  readonly query?: Readonly<Record<string, string>>;
  readonly idempotencyKey?: string;
  readonly signal: AbortSignal;
  /** Called with how much has been sent, from 0 to 1. */
  onProgress?(part: number): void;
}

/** Runs an operation that takes a form. Rejects with an {@link ApiError}, or with an AbortError: then the server discards everything. */
export function upload<Op extends 'previewUpload' | 'uploadCampaign'>(
  operation: Op,
  { campaign, list, query = {}, idempotencyKey, signal, onProgress }: Upload,
): Promise<Output<Op>> {
  const { method, path } = commandOf(operation);
  const form = new FormData();
  form.append('campaign', new Blob([JSON.stringify(campaign)], { type: 'application/json' }));
  form.append('recipients', list, 'list.csv');
  return new Promise((resolve, reject: (error: ApiError | DOMException) => void) => {
    const request = new XMLHttpRequest();
    const abort = (): void => request.abort();
    const parameters = new URLSearchParams(query).toString();
    request.open(method, `${path}${parameters === '' ? '' : `?${parameters}`}`);
    request.responseType = 'json';
    if (idempotencyKey !== undefined) request.setRequestHeader('idempotency-key', idempotencyKey);
    if (onProgress)
      request.upload.onprogress = ({ loaded, total }) => onProgress(total === 0 ? 0 : loaded / total);
    request.onload = () => {
      if (request.status < 300) resolve(request.response as Output<Op>);
      else reject(refusal(request.status, request.response));
    };
    request.onerror = () => reject(offline());
    request.onabort = () => reject(new DOMException('The upload was cancelled.', 'AbortError'));
    request.onloadend = () => signal.removeEventListener('abort', abort);
    if (signal.aborted) return reject(new DOMException('The upload was cancelled.', 'AbortError'));
    signal.addEventListener('abort', abort);
    request.send(form);
  });
}
