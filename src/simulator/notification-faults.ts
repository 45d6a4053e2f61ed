/** Shapes that a notification may have: the documented list first, then what writers of such services make of it. */
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

/** Where the security token may stand; `signature` is the body's HMAC-SHA-256 under it. */
export const TOKEN_PLACES = ['header', 'xHeader', 'bearer', 'basic', 'query', 'body', 'signature'] as const;
/** See {@link TOKEN_PLACES}. */
export type TokenPlace = (typeof TOKEN_PLACES)[number];
