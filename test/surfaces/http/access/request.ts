import { text } from 'node:stream/consumers';
import { isThere, type Operation } from '../../../../src/operations/operation.js';
import { type ApiResponse, type ApiServer, campaignForm } from '../../../scene/api.js';

/** Requests an operation with a key, as its row says where each member of the input belongs. The body of a stream is not read. */
export async function request(
  { call, origin }: ApiServer,
  { http, kind, body, name, access }: Operation,
  input: object,
  key: string,
): Promise<ApiResponse> {
  if (!isThere(http)) throw new TypeError(`${name} is not in HTTP`);
  const [method = '', path = ''] = http.split(' ');
  const rest = new Map(Object.entries<unknown>({ ...input }));
  const take = (member: string): unknown => {
    const value = rest.get(member);
    rest.delete(member);
    return value;
  };
  const address = path.replace(/\{(\w+)\}/g, (_, member) => encodeURIComponent(String(take(member))));
  const whole = body === undefined ? undefined : take(body);
  const hasNoBody = method === 'GET' || method === 'DELETE';
  // Where an object is, is a part of its address.
  const inQuery = [...rest.keys()].filter(
    (member) => hasNoBody || body !== undefined || (member === 'lane' && access.rule === 'object'),
  );
  const query = new URLSearchParams(
    inQuery.map((member): [string, string] => [member, String(take(member))]),
  );
  const target = `/v1${address}${query.size === 0 ? '' : `?${query}`}`;
  if (kind === 'feed') {
    const control = new AbortController();
    const headers = { authorization: `Bearer ${key}` };
    const reply = await fetch(`${origin}${target}`, { headers, signal: control.signal });
    const json: unknown = reply.status < 400 ? '' : await reply.json();
    control.abort();
    return { status: reply.status, headers: reply.headers, json };
  }
  if (path.endsWith('/upload')) {
    const { recipients, ...fields } = Object.fromEntries(rest);
    const [{ to }] = recipients as [{ to: string }];
    return call(method, target, { key, form: campaignForm(fields, `to\n${to}\n`) });
  }
  const { ndjson } = Object(whole);
  if (ndjson !== undefined)
    return call(method, target, {
      key,
      text: await text(ndjson),
      headers: { 'content-type': 'application/x-ndjson' },
    });
  if (hasNoBody) return call(method, target, { key });
  return call(method, target, { key, body: body === undefined ? Object.fromEntries(rest) : whole });
}
