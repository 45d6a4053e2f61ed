import { z } from 'zod';
import { numberOf, requestIdOf, telAddress } from '../../service/client/address.js';
import type { Reply } from '../../service/client/exchange.js';
import { jsonOf, readOutboundRequest } from '../../service/client/read-response.js';
import { type ConformanceSend, recipientsOf } from './report.js';
import type { Run, TestMessage } from './run.js';

/** The text of the message, unless another one is given. */
export const DEFAULT_TEXT = 'This is a test of the messaging service.';
const DEFAULT_NAME = 'Volley';

/** The message that these options ask for. */
export function openMessage(
  { session, config, nonce, profile }: Pick<Run, 'session' | 'config' | 'nonce' | 'profile'>,
  send: ConformanceSend,
): TestMessage {
  const hasCorrelator =
    send.correlator ?? (send.twice === true || session.settings.clientCorrelator !== 'off');
  const content = {
    sender: send.sender,
    senderName: config.senderName ?? DEFAULT_NAME,
    recipients: recipientsOf(send),
    text: send.text ?? DEFAULT_TEXT,
    ...((hasCorrelator || profile.correlatorLifetimeMs !== null) && { clientCorrelator: nonce() }),
    ...(profile.request.callbackData && { callbackData: nonce() }),
  };
  return { content, resourceUrl: null, ids: [] };
}

/** What a 201 repeats of the request. */
const echoed = z.object({
  outboundSMSMessageRequest: z.object({
    address: z.array(z.string()),
    senderAddress: z.string(),
    outboundSMSTextMessage: z.object({ message: z.string() }),
    senderName: z.string().optional(),
    deliveryInfoList: z
      .object({ deliveryInfo: z.array(z.object({ address: z.string(), deliveryStatus: z.string() })) })
      .optional(),
  }),
});

/** What the 201 does not repeat of the message, or contradicts; null: nothing. */
export function differenceIn(
  { body, headers }: Reply,
  { content: { recipients, sender, text, senderName } }: TestMessage,
): string | null {
  const { data } = echoed.safeParse(jsonOf(body ?? ''));
  if (data === undefined) return 'the request is not repeated';
  const request = data.outboundSMSMessageRequest;
  const infos = request.deliveryInfoList?.deliveryInfo;
  const entriesOf = (number: string) => infos?.filter((each) => numberOf(each.address) === number).length;
  const isAddressed =
    request.address.length === recipients.length &&
    recipients.every((number) => request.address.includes(telAddress(number)));
  if (!isAddressed) return 'address is not that of the request';
  if (request.senderAddress !== sender) return 'senderAddress is not that of the request';
  if (request.outboundSMSTextMessage.message !== text) return 'message is not that of the request';
  if (request.senderName !== undefined && request.senderName !== senderName)
    return 'senderName is not that of the request';
  if (
    infos !== undefined &&
    (infos.length !== recipients.length || recipients.some((number) => entriesOf(number) !== 1))
  )
    return 'deliveryInfo does not have one entry for each recipient';
  const { resourceURL } = readOutboundRequest(body ?? '') ?? {};
  const [inBody, inLocation] = [requestIdOf(resourceURL), requestIdOf(headers.location)];
  if (resourceURL !== undefined && inBody === null) return 'resourceURL contains no request id';
  if (inBody === null && inLocation === null) return 'the response contains no request id';
  return inBody !== null && inLocation !== null && inBody !== inLocation
    ? 'Location names another request than resourceURL'
    : null;
}
