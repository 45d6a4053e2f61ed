/**
 * Send requests that a campaign takes. Recipients of one shared text go together, as many as a request may name;
 * a personalised text is one recipient's own and takes a request each.
 * Throws a RangeError unless `recipients` is an integer from 0 and `mostPerRequest` one from 1.
 */
export function requestsNeeded(recipients: number, sharedText: boolean, mostPerRequest: number): number {
  if (!Number.isSafeInteger(recipients) || recipients < 0)
    throw new RangeError(`No count of recipients: ${recipients}`);
  return Math.ceil(recipients / recipientsPerRequest(sharedText, mostPerRequest));
}

/** How many recipients one request of the campaign names at most; see {@link requestsNeeded}. */
export function recipientsPerRequest(sharedText: boolean, mostPerRequest: number): number {
  if (!Number.isSafeInteger(mostPerRequest) || mostPerRequest < 1) {
    throw new RangeError(`No maximum of recipients a request: ${mostPerRequest}`);
  }
  return sharedText ? mostPerRequest : 1;
}
