/**
 * What authenticates a request to the messaging area: an API key or an access token in `Authorization`, and for services that
 * require it an access token in `X-Authorization` as well (interface page, Authentication 2 and 4).
 */
export interface Bearer {
  readonly authorization: string;
  readonly xAuthorization?: string;
}

/** The headers of a request. */
export function bearerHeaders({ authorization, xAuthorization }: Bearer): Record<string, string> {
  return {
    authorization: `Bearer ${authorization}`,
    ...(xAuthorization === undefined ? {} : { 'x-authorization': `Bearer ${xAuthorization}` }),
  };
}

/** What no reason or log line may quote. */
export function bearerSecrets({ authorization, xAuthorization }: Bearer): string[] {
  return xAuthorization === undefined ? [authorization] : [authorization, xAuthorization];
}
