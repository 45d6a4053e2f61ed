import type { ProblemCode } from '../../../campaign/errors/error-codes.js';
import { remedyOf } from '../../../campaign/limits/refusal.js';

/** When each problem occurs, and what a client can do about it; `/docs` shows it. */
export const ADVICE: Readonly<Record<ProblemCode, string>> = {
  badInput:
    'A member, a header, or a part of the address is missing, invalid, or unknown; `errors` says which. Fix it before you retry: the same request fails again.',
  ambiguous:
    'Several lanes that the key may use have an outbox or a schedule of this name; `lanes` lists them. Nothing was changed. Name one of them as `?lane=`.',
  unauthorised:
    'Send `Authorization: Bearer vk_…` with a key that `volley keys create` printed and that has not been revoked.',
  forbidden:
    'The key lacks the scope that the request requires, it is limited to lanes and the request covers all, or it has suppressed as many numbers as it may; `detail` says which. Create another key: the scopes and lanes of a key never change.',
  overLimit:
    'The sender, a country, the segments of a message, or what is stored in a day exceeds a limit; `limit` names it, `owner` says whether it is one of the `key` or of the `lane`, and `detail` what is allowed. Nothing was stored; of an upload of messages, those before it were. Of a daily limit, `left` says what it still allows, and `resetsAt` when the next day begins: retrying does not help before that.',
  notFound:
    'The campaign, outbox, message, lane, request, or address does not exist, or it belongs to a lane that the key may not use. A campaign is removed at the end of its retention period.',
  methodNotAllowed: 'The header `Allow` lists the methods that it supports; this page says what they do.',
  requestTimeout:
    'The headers must arrive within a minute, 10 kB of the body in each second, and the whole request within an hour. The connection is closed.',
  invalidState:
    'For example, you cannot pause a cancelled campaign. Nothing was changed. Read the `state` of the campaign.',
  sent: 'A message can be changed and cancelled until a worker claims it, which is when it is due and the quota permits a request. Read its `state`. A correction of a message that was sent needs an id of its own.',
  ended:
    'An id that has ended is not used again by accident: nothing was changed. Use another id, or the same id with a higher `version`.',
  stale:
    'Nothing was changed: another request was newer than this one. Read the message before you change it again.',
  noFile:
    'The request has ended without one, or the service does not have it yet; `request` has its state, and `detail` says why.',
  unknownOutcome:
    'Nothing more was sent, because the service might count it twice. Look the request up at the service, then resolve it.',
  exists: 'To give it other settings, use `PUT` instead, which changes an outbox that exists.',
  closed: 'It accepts no new messages. Those that it has are still sent.',
  notEmpty:
    'It still knows messages: some wait, or it keeps the ids of those that were sent or have ended, so that none is sent twice. Nothing was deleted. Cancel what waits, and delete the outbox RETENTION after the last message has ended; close it until then.',
  laneTaken:
    'Two lanes with the same credentials would each use the whole quota of the service; `detail` names the other lane. Nothing was changed. Give each lane its own name and credentials. A lane that was changed at the same time can be changed again.',
  unexpected:
    'Nothing was changed. Of a lane, `recipientCount` says how many recipients wait: to keep the number from falling while you decide, hold the lane first, and repeat the request with this number as `expect`. Of a campaign, `expected` and `actual` say what differs from its preview: preview it again. If you sent a `revision`, someone has changed the campaign since: read its status again.',
  repeated: `It has the same list, text, and sender; \`campaign\` names it. If you retried because a response was lost, it is the campaign that you wanted. Send an \`Idempotency-Key\` to make retries safe. ${remedyOf('repeated', null)}.`,
  gone: 'They were removed with their campaigns, or Redis has lost the data that the cursor belongs to; `detail` says which. Read from the beginning, without `cursor`: results that you have seen are repeated.',
  tooLarge:
    'A body without a list exceeds 100 kB, JSON with a list exceeds 1 MB, or a list exceeds HTTP_MAX_UPLOAD_MB or takes too much of HTTP_LIST_MEMORY_MB. Nothing was stored. Upload a long list as CSV in a form, and messages as NDJSON or CSV, which are read as they arrive, or send the list in parts.',
  unsupported:
    'Send JSON with `Content-Type: application/json`. To create or preview a campaign you can also send `multipart/form-data`. Compressed bodies are not supported. Some clients, such as curl, send another content type by default.',
  expectation: 'The only value that the server accepts is `100-continue`. Leave the header out.',
  misdirected:
    'A browser may use the console, and a session, only under an address of this machine or that of CONSOLE_URL: under any other name, a page of another site could read them. An operator can set CONSOLE_URL. Requests with an API key are served under every name.',
  invalidRows:
    'Nothing was sent or stored. `errors` lists the first 20 rows with line, column, and reason; `invalid` counts them all. Fix the rows, or set `skipInvalid` to leave them out.',
  differentTexts: `A row has the number of an earlier row and a different text, and \`duplicates\` is \`refuse\`, the default for JSON. Nothing was sent or stored. \`errors\` lists the first 20 such rows with the row that has the number first; \`differentTexts\` counts them all. ${remedyOf('differentTexts', null)}.`,
  noPrice: `There is a \`maxCost\`, and no price is configured for some numbers, so the cost is not known. Nothing was sent or stored. \`errors\` lists the first 20 rows; \`unpriced\` counts them all. ${remedyOf('noPrice', null)}.`,
  overBudget: `Its \`total\` is more than its \`maxCost\`, both in \`currency\`. Nothing was sent or stored. ${remedyOf('overBudget', null)}.`,
  opensTooLate:
    'The message would lapse before the window of its outbox and that of the lane are open. Nothing was stored. Send it at a time at which they are open, or not much earlier than their next opening.',
  messagesUnfit:
    'Messages that wait in the outbox lack a value that the new text or the new rule needs, or have one that is no time; `errors` names each value, with the number of messages and the first ids. Nothing was changed. Pass a value for such messages in `values`, or cancel them first.',
  conflict:
    '`detail` lists what is compared; `campaign` names the existing campaign. Use a new key for a new campaign, and the same key only to retry the same request.',
  tooManyRequests:
    'The key sent too many requests, its uploads in progress reached their limit, or this address tried too many invalid keys. `Retry-After` says after how many seconds you can retry.',
  headersTooLarge:
    'The address and the headers of a request may have 16 kB together. The connection is closed.',
  damaged:
    'A record that Redis stores cannot be read: `detail` names it. `volley doctor` lists all of them, and says how to remove them. Other records are not affected.',
  failed:
    'The server has a fault and logged it as `http.failed`. The request may have taken effect: retry with the same `Idempotency-Key`.',
  full: 'Redis has used 85% of its `maxmemory`, so nothing new is stored; `detail` says how much it uses. Retrying helps only after an operator has raised `maxmemory`, or old campaigns were removed. You can still read, pause, and cancel.',
  noToken:
    'The account service refuses the credentials of the lane, so nothing was sent. Retrying helps only after an operator has fixed the cause that `detail` names.',
  unavailable:
    'Redis does not respond, the process is shutting down, or it has reached its limit of event streams or of memory for lists. Retry after a few seconds. To create a campaign, use the same `Idempotency-Key`.',
  keyFull:
    'The key has stored as much in Redis as KEY_MEMORY_MB allows on this lane; `detail` says how much. This campaign or message was not stored; of an upload of messages, those before it were. Room returns when Volley removes data, RETENTION after its end. An operator can raise KEY_MEMORY_MB. Retrying does not help before that.',
};
