/** What an API key may do: `read` shows, `send` creates campaigns, `operate` pauses, resumes, cancels, and resolves. */
export const API_SCOPES = ['read', 'send', 'operate'] as const;
/** See {@link API_SCOPES}. */
export type ApiScope = (typeof API_SCOPES)[number];
