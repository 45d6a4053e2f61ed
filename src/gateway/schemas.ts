import { z } from 'zod';

/**
 * What the interface page shows of a reply is checked; what it does not show may be there or not. An optional field
 * that is not of the shown type counts as absent, because the rest of the reply is still true.
 */
const optionalText = z.string().optional().catch(undefined);

/** One recipient's delivery status (interface page, DeliveryInfo). The word itself is judged by the caller. */
const deliveryInfo = z.object({ address: z.string(), deliveryStatus: z.string() });

/** Entries that are not a DeliveryInfo become null: they say nothing, and must not cost the others theirs. */
const entry = deliveryInfo.nullable().catch(null);

/** Writers that turn XML into JSON write a list of one as the bare entry. */
const deliveryInfos = z.union([z.array(entry), deliveryInfo.transform((one) => [one])]);

const innerList = z.object({ resourceURL: optionalText, deliveryInfo: deliveryInfos });

/** DeliveryInfoList (interface page), with its wrapper or without. */
const deliveryInfoList = z.union([
  z.object({ deliveryInfoList: innerList }).transform((body) => body.deliveryInfoList),
  innerList,
]);

const innerRequest = z.object({
  resourceURL: optionalText,
  deliveryInfoList: z
    .object({ resourceURL: optionalText, deliveryInfo: deliveryInfos.optional().catch(undefined) })
    .optional()
    .catch(undefined),
});

/** OutboundRequest (interface page), with its wrapper; without it only if it names the resource it created. */
const outboundRequest = z.union([
  z.object({ outboundSMSMessageRequest: innerRequest }).transform((body) => body.outboundSMSMessageRequest),
  innerRequest.extend({ resourceURL: z.string() }),
]);

const token = z.string().regex(/^[\x21-\x7e]+$/);

/** The token pair (interface page, Token pair), and the other ways its two names are commonly written. */
const tokenPair = z.union([
  z
    .object({ AccessToken: token, RefreshToken: token })
    .transform((p) => [p.AccessToken, p.RefreshToken] as const),
  z
    .object({ accessToken: token, refreshToken: token })
    .transform((p) => [p.accessToken, p.refreshToken] as const),
  z
    .object({ access_token: token, refresh_token: token })
    .transform((p) => [p.access_token, p.refresh_token] as const),
]);

/** Callback (interface page), with its wrapper or without. */
const innerCallback = z.object({ url: z.string(), securityToken: optionalText });
const callback = z.union([
  z.object({ callback: innerCallback }).transform((body) => body.callback),
  innerCallback,
]);

/** See {@link deliveryInfoList}. */
export type DeliveryInfoList = z.infer<typeof deliveryInfoList>;
/** See {@link outboundRequest}. */
export type OutboundRequest = z.infer<typeof outboundRequest>;
/** The two tokens of a login or a refresh. */
export interface TokenPair {
  readonly accessToken: string;
  readonly refreshToken: string;
}

/** The OutboundRequest a reply's body holds; null if it holds none. Never throws. */
export function readOutboundRequest(body: string): OutboundRequest | null {
  return outboundRequest.safeParse(json(body)).data ?? null;
}

/** The DeliveryInfoList a reply's body holds; null if it holds none. Never throws. */
export function readDeliveryInfoList(body: string): DeliveryInfoList | null {
  return deliveryInfoList.safeParse(json(body)).data ?? null;
}

/** The callback a reply's body holds; null if it holds none. Never throws. */
export function readCallback(body: string): z.infer<typeof callback> | null {
  return callback.safeParse(json(body)).data ?? null;
}

/** How deep under a wrapper the token pair is looked for. */
const DEPTH = 4;

/** The token pair a reply's body holds, at the top or under a wrapper; null if it holds none. Never throws. */
export function readTokenPair(body: string): TokenPair | null {
  return pairIn(json(body), DEPTH);
}

/** True for a body that says nothing or is an object of whatever fields; false for one that broke off or is no JSON. */
export function isEmptyOrObject(body: string | null): boolean {
  return (
    body !== null && (body.trim() === '' || z.record(z.string(), z.unknown()).safeParse(json(body)).success)
  );
}

function pairIn(value: unknown, depth: number): TokenPair | null {
  if (typeof value !== 'object' || value === null) return null;
  const pair = tokenPair.safeParse(value).data;
  if (pair !== undefined) return { accessToken: pair[0], refreshToken: pair[1] };
  if (depth === 0) return null;
  for (const inner of Object.values(value)) {
    const found = pairIn(inner, depth - 1);
    if (found !== null) return found;
  }
  return null;
}

function json(body: string): unknown {
  try {
    return JSON.parse(body.startsWith('\uFEFF') ? body.slice(1) : body);
  } catch {
    return undefined;
  }
}
