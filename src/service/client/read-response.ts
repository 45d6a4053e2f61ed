import { z } from 'zod';
import { jsonOrUndefined } from '../../base/json.js';

/**
 * These schemas check what the interface page shows of a response and allow anything it does not show. An optional field of an
 * unexpected type counts as absent, because the rest of the response is still true.
 */
const optionalText = z.string().optional().catch(undefined);

/** One recipient's delivery status (interface page, DeliveryInfo). The caller checks the status itself. */
const deliveryInfo = z.object({
  address: z.string(),
  deliveryStatus: z.string(),
  deliveryStatusCode: z.union([z.number(), z.string()]).optional().catch(undefined),
  callbackData: optionalText,
});

/** Entries that are not a DeliveryInfo become null, so that the others can still be read. */
const entry = deliveryInfo.nullable().catch(null);

/** Converters from XML to JSON write a list of one entry as the bare entry. */
const deliveryInfos = z.union([z.array(entry), deliveryInfo.transform((one) => [one])]);

/** Services leave out an empty list, or write null or `{}`. */
const innerList = z.object({
  resourceURL: optionalText,
  deliveryInfo: deliveryInfos.optional().catch(undefined),
});

/** DeliveryInfoList (interface page), with its wrapper; without it only if it lists something. */
const deliveryInfoList = z.union([
  z.object({ deliveryInfoList: innerList }).transform((body) => body.deliveryInfoList),
  innerList.extend({ deliveryInfo: deliveryInfos }),
]);

const innerRequest = z.object({
  resourceURL: optionalText,
  clientCorrelator: optionalText,
  deliveryInfoList: innerList.optional().catch(undefined),
});

/** OutboundRequest (interface page), with its wrapper; without it only if it names the created resource. */
const outboundRequest = z.union([
  z.object({ outboundSMSMessageRequest: innerRequest }).transform((body) => body.outboundSMSMessageRequest),
  innerRequest.extend({ resourceURL: z.string() }),
]);

/** An error of the GSMA OneAPI family, to which this interface is related. */
const variable = z.union([z.string(), z.number().transform(String)]).catch('');
const requestException = z.object({
  messageId: z.string(),
  text: z.string().catch(''),
  // Orange documents a text.
  variables: z.union([z.array(variable), z.string().transform((one) => [one])]).catch([]),
});
const requestError = z
  .object({
    requestError: z.union([
      z.object({ serviceException: requestException }).transform((error) => error.serviceException),
      z.object({ policyException: requestException }).transform((error) => error.policyException),
    ]),
  })
  .transform(({ requestError: { messageId, text, variables } }) => ({
    code: messageId.trim().toUpperCase(),
    text,
    variables,
  }));

/** An error with a code, as in the NotAcceptableCallback of later versions. */
const codedError = z.object({ code: z.string() });

const YEAR_S = 365 * 86_400;

/** The response of an OAuth 2 token endpoint (RFC 6749, sections 5.1 and 5.2). */
const clientToken = z.object({
  access_token: z.string().regex(/^[\x21-\x7e]+$/),
  token_type: z.string().regex(/^bearer$/i),
  // Orange documents a text. A lifetime of more than a year is one in milliseconds.
  expires_in: z
    .union([
      z.number(),
      z
        .string()
        .regex(/^\s*\d+(\.\d+)?\s*$/)
        .transform(Number),
    ])
    .pipe(z.number().positive())
    .transform((seconds) => (seconds > YEAR_S ? seconds / 1_000 : seconds))
    .optional()
    .catch(undefined),
});
const tokenError = z.object({ error: z.string(), error_description: optionalText });

const token = z.string().regex(/^[\x21-\x7e]+$/);

/** The token pair (interface page, Token pair), also with the other common spellings of its names. */
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

/** Callback (interface page), with or without its wrapper. */
const innerCallback = z.object({ url: z.string(), securityToken: optionalText });
const callback = z.union([
  z.object({ callback: innerCallback }).transform((body) => body.callback),
  innerCallback,
]);

/** See {@link requestError}. `code`: its `messageId`, in capitals. */
export type RequestError = z.infer<typeof requestError>;
/** See {@link deliveryInfoList}. */
export type DeliveryInfoList = z.infer<typeof deliveryInfoList>;
/** The two tokens of a login or a refresh. */
interface TokenPair {
  readonly accessToken: string;
  readonly refreshToken: string;
}

/** The OutboundRequest in a response body; null if there is none. Never throws. */
export function readOutboundRequest(body: string): z.infer<typeof outboundRequest> | null {
  return outboundRequest.safeParse(jsonOf(body)).data ?? null;
}

/** The DeliveryInfoList in a response body; null if there is none. Never throws. */
export function readDeliveryInfoList(body: string): DeliveryInfoList | null {
  return deliveryInfoList.safeParse(jsonOf(body)).data ?? null;
}

/** The callback in a response body; null if there is none. Never throws. */
export function readCallback(body: string): z.infer<typeof callback> | null {
  return callback.safeParse(jsonOf(body)).data ?? null;
}

/** The error of the OneAPI family in a response body; null if the body has another form. Never throws. */
export function readRequestError(body: string): RequestError | null {
  return requestError.safeParse(jsonOf(body)).data ?? null;
}

/** The `code` of an error in a response body; null if there is none. Never throws. */
export function readErrorCode(body: string): string | null {
  return codedError.safeParse(jsonOf(body)).data?.code ?? null;
}

/** The bearer token in the response of an OAuth 2 token endpoint; null if there is none. Never throws. */
export function readClientToken(body: string): z.infer<typeof clientToken> | null {
  return clientToken.safeParse(jsonOf(body)).data ?? null;
}

/** The error in the response of an OAuth 2 token endpoint; null if there is none. Never throws. */
export function readTokenError(body: string): z.infer<typeof tokenError> | null {
  return tokenError.safeParse(jsonOf(body)).data ?? null;
}

/** How many wrappers around a token pair are opened. */
const DEPTH = 4;

/** The token pair in a response body, at the top or inside wrappers; null if there is none. Never throws. */
export function readTokenPair(body: string): TokenPair | null {
  return pairIn(jsonOf(body), DEPTH);
}

/** True for an empty body or a JSON object; false for a body that broke off or is not JSON. */
export function isEmptyOrObject(body: string | null): boolean {
  return (
    body !== null && (body.trim() === '' || z.record(z.string(), z.unknown()).safeParse(jsonOf(body)).success)
  );
}

function pairIn(value: unknown, depth: number): TokenPair | null {
  if (typeof value !== 'object' || value === null) return null;
  const pair = tokenPair.safeParse(value).data;
  if (pair !== undefined) return { accessToken: pair[0], refreshToken: pair[1] };
  if (depth === 0) return null;
  for (const inner of Object.values(value)) {
    const pair = pairIn(inner, depth - 1);
    if (pair !== null) return pair;
  }
  return null;
}

/** The JSON in a body; undefined if there is none. Never throws. */
export function jsonOf(body: string): unknown {
  return jsonOrUndefined(body.startsWith('\uFEFF') ? body.slice(1) : body);
}

/** A whole number of seconds, the first of the two forms of a `Retry-After` (RFC 9110, section 10.2.3). */
const SECONDS = /^\d{1,12}$/;

/** How every form of an HTTP date begins (RFC 9110, section 5.6.7); keeps `Date.parse` from guessing at other text. */
const HTTP_DATE = /^(mon|tues?|wed(nes)?|thu(rs)?|fri|sat(ur)?|sun)(day)?,? /i;

/** The one form of an HTTP date without a time zone; it means UTC as well. */
const WITHOUT_ZONE = /\d{4}$/;

/**
 * How long the service asks clients to wait, in milliseconds from `now` (ms since the epoch); never negative. `header` is the
 * value of `Retry-After`: seconds or an HTTP date. Null if there is none or it is neither; the caller then uses its own backoff.
 */
export function retryAfterMs(header: string | undefined, now: number): number | null {
  const text = header?.trim() ?? '';
  if (SECONDS.test(text)) return Number(text) * 1000;
  if (!HTTP_DATE.test(text)) return null;
  const at = Date.parse(WITHOUT_ZONE.test(text) && !text.includes(',') ? `${text} GMT` : text);
  return Number.isNaN(at) ? null : Math.max(0, at - now);
}
