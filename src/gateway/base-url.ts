/**
 * A base URL without its trailing slashes, ready for a path to follow. Throws a TypeError that says what is wrong with
 * it; a user and password in it would replace the header that carries the key, a query would end up before the path.
 */
export function baseOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new TypeError('The base URL is not an http or https address.');
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw new TypeError(
      'The base URL holds a user, a password, a query or a fragment: leave only host and path.',
    );
  }
  return url.href.replace(/\/+$/, '');
}
