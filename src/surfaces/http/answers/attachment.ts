/*
 * The name under which browsers save a response (RFC 6266). People choose parts of it, such as the name of a campaign, and may do so to
 * deceive: it must stay a name in one folder of any system, and look like what it is.
 */

/** Characters that a name of a file may not have on some system, and those that are not seen, or turn others around. */
const UNSAFE = /[<>:"/\\|?*\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]+/gu;
/** Names of devices in Windows, whatever follows the first dot. */
const DEVICE = /^(?:con|prn|aux|nul|com\d|lpt\d)(?=\.|$)/i;
/** Systems allow 255 bytes, and browsers add to them. */
const MAX_BYTES = 180;

/** The header of a response that is saved as a file. The last dot of `name` begins its ending, which stays as it is. */
export function attachment(name: string): string {
  const safe = safeName(name);
  const plain = safe
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/[^ -~]|%/gu, '_');
  const isPlain = plain === safe;
  // What encodeURIComponent leaves alone and an attribute may not have (RFC 8187).
  const encoded = encodeURIComponent(safe).replace(
    /['()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16)}`,
  );
  return `attachment; filename="${plain}"${isPlain ? '' : `; filename*=UTF-8''${encoded}`}`;
}

function safeName(name: string): string {
  const [, stem = '', ending = ''] = /^(.*?)(\.[a-z]+)?$/s.exec(name) ?? [];
  const tidy = stem
    .replace(UNSAFE, ' ')
    .replace(/ +/g, ' ')
    .trim()
    .replace(/^[. ]+/, '')
    .replace(/^(?=[=+@-])|^$/, '_');
  const named = `${tidy}${ending}`;
  return shortened(DEVICE.test(named) ? `_${tidy}` : tidy) + ending;
}

/** As much of a text as fits, without the dots and spaces at its end, which Windows drops. */
function shortened(text: string): string {
  let short = '';
  for (const character of text) {
    if (Buffer.byteLength(short + character) > MAX_BYTES) break;
    short += character;
  }
  return short.replace(/[. ]+$/, '');
}
