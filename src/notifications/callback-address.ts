/** Longer than any address that is compared or shown. */
const LONGEST = 2_048;

/** An address as two are compared: a service may spell host, port and last slash in its own way. */
export function compared(url: string): string {
  if (url.length > LONGEST || !URL.canParse(url)) return url;
  const { origin, pathname, search } = new URL(url);
  return `${origin}${pathname.replace(/\/+$/, '')}${search}`;
}

/** An address as people may see it: its last part, any long one, and what follows a question mark may be a secret. */
export function shown(url: string): string {
  if (url.length > LONGEST || !URL.canParse(url)) return '…';
  const { origin, pathname } = new URL(url);
  if (origin === 'null') return '…';
  const parts = pathname.replace(/\/+$/, '').split('/');
  const last = parts.length - 1;
  return `${origin}${parts.map((part, at) => (at > 0 && (at === last || part.length >= 20) ? '…' : part)).join('/') || '/'}`;
}
