/** The shared part of the contenders of bench/send.ts: the same requests and the same messages with the bench. */

/** The number of requests that each contender keeps in flight. */
export const IN_FLIGHT = 32;
export const QUEUE = 'recipients';
export const API_KEY = 'simulator-key';
export const SENDER = '12345';
export const TEXT = 'Spring sale: 20% off everything until Sunday. Reply STOP to opt out.';

/** One round of a contender. */
export interface Order {
  readonly baseUrl: string;
  readonly requests: number;
}

/** Distinct numbers in a scattered order, like a list that has grown over years. */
export function* numbers(count: number): Generator<string> {
  for (let at = 0; at < count; at++) yield `+4477${10_000_000 + ((at * 7_654_321) % 10_000_000)}`;
}

/** The path and body of a send request (interface page, OutboundRequest). */
export function request(baseUrl: string) {
  return {
    url: `${baseUrl}/outbound/${SENDER}/requests`,
    headers: { authorization: `Bearer ${API_KEY}` },
    body: (to: string) => ({
      outboundSMSMessageRequest: {
        address: [`tel:${to}`],
        senderAddress: SENDER,
        outboundSMSTextMessage: { message: TEXT },
      },
    }),
  };
}

/** Runs each order of the parent process and reports when it is done; ends with the parent. */
export async function serve(carryOut: (order: Order) => Promise<void>): Promise<void> {
  process.on('message', (message: Order | 'meter') => {
    if (message === 'meter') return;
    carryOut(message).then(
      () => process.send?.('done'),
      (error: unknown) => {
        process.stderr.write(`${String(error)}\n`);
        process.exit(1);
      },
    );
  });
  process.on('disconnect', () => process.exit(0));
  process.send?.('ready');
}
