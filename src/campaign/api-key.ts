/** What an API key may do: `read` shows, `send` creates campaigns, `operate` pauses, resumes, cancels, and resolves. */
export const API_SCOPES = ['read', 'send', 'operate'] as const;
/** See {@link API_SCOPES}. */
export type ApiScope = (typeof API_SCOPES)[number];

/** A key of the HTTP API without its secret, which is shown only once. */
export interface ApiKey {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly ApiScope[];
  /** The lanes that the key is limited to; null: all lanes. */
  readonly lanes: readonly string[] | null;
  readonly createdAt: string;
  /** With a precision of one minute; null before the first use. */
  readonly lastUsedAt: string | null;
}
