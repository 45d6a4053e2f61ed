/*
 * How many requests the messages of a campaign take.
 */

/** What a campaign has not sent. */
interface Unsent {
  readonly cursor: number;
  readonly ordinals: number;
  readonly slice: number;
  /** Recipients per request. */
  readonly batch: number;
  /** Set if its recipients have windows of their own: then the cursor is that of one zone. */
  readonly part?: number | undefined;
  readonly counts?: { readonly planned?: number | undefined } | undefined;
  readonly released: readonly {
    readonly first: number;
    readonly count: number;
    readonly again?: string | undefined;
  }[];
}

/**
 * The send requests of a campaign. Recipients of a shared message are batched, up to `maxPerRequest` of them in a request, and within
 * a slice of recipients; a personalised message takes one request per recipient.
 */
export function requestsNeeded(
  recipients: number,
  sharedMessage: boolean,
  maxPerRequest: number,
  slice: number,
): number {
  return sharedMessage ? requestsOf(0, recipients, slice, maxPerRequest) : recipients;
}

/** The requests that a campaign still has to send. */
export function requestsLeft(campaign: Unsent): number {
  const { cursor, ordinals, slice, batch, released, part, counts } = campaign;
  if (part !== undefined) return requestsOf(0, counts?.planned ?? 0, slice, batch);
  let requests = requestsOf(cursor, ordinals, slice, batch);
  for (const { first, count, again } of released) {
    requests += again === 'underCorrelator' ? 1 : requestsOf(first, first + count, slice, batch);
  }
  return requests;
}

function requestsOf(from: number, to: number, slice: number, batch: number): number {
  let count = 0;
  // The rest of the first slice, whole slices, and the rest.
  const end = Math.min(to, (Math.floor(from / slice) + 1) * slice);
  if (from < end) count += Math.ceil((end - from) / batch);
  if (to <= end) return count;
  const whole = Math.floor((to - end) / slice);
  return count + whole * Math.ceil(slice / batch) + Math.ceil((to - end - whole * slice) / batch);
}
