import { appendFileSync } from 'node:fs';
import { Socket } from 'node:net';

/**
 * Preloaded into a worker process with `node --import`: appends to the file WRITES_FILE when each send request was written, before it
 * travels: one JSON line with the time right before the write to the socket, the time right after it, the text, and the recipients. These
 * times are those of the machine, also if `suspend-clocks.mjs`, which is preloaded later, stops the clocks of the process.
 */
const file = process.env.WRITES_FILE ?? '';
const now = Date.now;

/** A body begins so; `sendBody` in src/service/client/messaging.ts writes it. */
const BODY = '{"outboundSMSMessageRequest":';

/** The text and the recipients of a request that these bytes end; undefined if they end none. */
function requestIn(bytes) {
  const from = bytes.indexOf(BODY);
  if (from < 0) return undefined;
  const { address, outboundSMSTextMessage } = JSON.parse(bytes.slice(from)).outboundSMSMessageRequest;
  return [outboundSMSTextMessage.message, address.map((each) => each.replace(/^tel:/, ''))];
}

function recorded(bytes, write) {
  const request = requestIn(bytes);
  const at = now();
  const result = write();
  if (request !== undefined) appendFileSync(file, `${JSON.stringify([at, now(), ...request])}\n`);
  return result;
}

// A stream calls these when the bytes go to the kernel, also if it was corked until then.
const { _write: write, _writev: writev } = Socket.prototype;
if (file !== '') {
  Socket.prototype._write = function recordedWrite(chunk, ...rest) {
    return recorded(String(chunk), () => write.call(this, chunk, ...rest));
  };
  Socket.prototype._writev = function recordedWritev(chunks, ...rest) {
    const bytes = chunks.map(({ chunk }) => String(chunk)).join('');
    return recorded(bytes, () => writev.call(this, chunks, ...rest));
  };
}
