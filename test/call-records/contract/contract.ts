import type { Contract } from '../../../src/call-records/contract/contract.js';
import { parseContract } from '../../../src/call-records/contract/read-contract.js';

/** The file of a contract that uses every kind of member, with times that are short, but long enough for a busy process. */
export const CONTRACT = {
  description: 'For tests',
  baseUrl: 'http://127.0.0.1:9/cdr',
  request: {
    method: 'POST',
    path: '/reports/{product}?zone={zone}',
    headers: { Authorization: 'Bearer {apiKey}', 'Content-Type': 'application/json' },
    body: {
      json: { first: '{from}', last: '{to.year}{to.month}{to.day}', number: '{number}', zero: '{zero}' },
    },
    id: '/report/id',
  },
  status: {
    method: 'GET',
    path: '/reports/{id}',
    headers: { Authorization: 'Bearer {apiKey}' },
    body: null,
    word: '/report/state',
    pending: ['queued', 'running'],
    ready: ['done'],
    failed: ['error'],
    expired: ['gone'],
    empty: ['nothing'],
  },
  download: {
    method: 'GET',
    path: '/reports/{id}/file.{format}',
    address: null as string | null,
    headers: { Authorization: 'Bearer {apiKey}' },
    body: null,
  },
  downloadOrigins: [] as string[],
  privateAddresses: ['127.0.0.1'],
  parameters: {
    product: { type: 'text', required: true, values: ['voice', 'global'] },
    zone: { type: 'text', required: false, values: null },
    number: { type: 'text', required: false, values: null },
    zero: { type: 'boolean', required: false, values: null },
    format: { type: 'text', required: true, values: ['csv', 'json'] },
  },
  limits: { days: 31, ageDays: null },
  globalMobile: { parameter: 'product', values: ['global'] },
  intervals: { status: '20ms', retry: '20ms' },
  timeouts: { request: '3s', status: '3s', download: '30s', silence: '2s', ready: '60s' },
  maxBytes: { response: 10_000, download: 1_000_000 },
};

/** A download address in the response to the status request. */
export const WITH_ADDRESS = {
  ...CONTRACT,
  download: { ...CONTRACT.download, path: null, address: '/report/file~1url' },
  parameters: { ...CONTRACT.parameters, format: { type: 'text', required: false, values: null } },
};

/** Reads a contract from its value. */
export const contractOf = (value: unknown): Contract => parseContract('contract.json', JSON.stringify(value));

/** The same contract at another address. */
export const at = <Value extends { baseUrl: string; client?: { tokenUrl: string } | null }>(
  value: Value,
  origin: string,
): Value => ({
  ...value,
  ...(value.client && {
    client: { ...value.client, tokenUrl: `${origin}${new URL(value.client.tokenUrl).pathname}` },
  }),
  baseUrl: `${origin}${new URL(value.baseUrl).pathname}`,
});
