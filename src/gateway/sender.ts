/**
 * The sender as a segment of a path: everything is percent-encoded but letters, digits, `-`, `_`, `.` and `~` (rule 5).
 * Sending and polling both use it, so that the two spell a sender alike, byte for byte (interface page, get delivery
 * infos: "the sender used in the original send-message request").
 */
export function senderSegment(sender: string): string {
  return encodeURIComponent(sender).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
