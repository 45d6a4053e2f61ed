/** The shapes of a notification's body: the documented list first, then plausible variants. */
export const NOTIFICATION_SHAPES = [
  'list',
  'unwrapped',
  'single',
  'notification',
  'request',
  'several',
  'withoutTel',
  'requestId',
] as const;
/** See {@link NOTIFICATION_SHAPES}. */
export type NotificationShape = (typeof NOTIFICATION_SHAPES)[number];

/** Where the security token is placed; `signature` sends the HMAC-SHA-256 of the body instead. */
export const TOKEN_PLACES = ['header', 'xHeader', 'bearer', 'basic', 'query', 'body', 'signature'] as const;
/** See {@link TOKEN_PLACES}. */
export type TokenPlace = (typeof TOKEN_PLACES)[number];
