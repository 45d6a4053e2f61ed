import { useLocation } from 'preact-iso/router';

/** An address with these parameters in place of its own; empty ones leave it. A change of a filter begins at the first page. */
export function withFilters(url: string, changes: Readonly<Record<string, string>>): string {
  const [path = '', query = ''] = url.split('?');
  const all = new URLSearchParams(query);
  if (!Object.hasOwn(changes, 'cursor')) all.delete('cursor');
  for (const [name, value] of Object.entries(changes)) {
    if (value === '') all.delete(name);
    else all.set(name, value);
  }
  const text = all.toString();
  return text === '' ? path : `${path}?${text}`;
}

/** The filters of this screen, which are in its address: a link, a reload, and the button Back keep them. And a function that changes some. */
export function useFilters() {
  const { url, query, route } = useLocation();
  const change = (changes: Readonly<Record<string, string>>): void => route(withFilters(url, changes));
  return [query as Readonly<Record<string, string>>, change] as const;
}
