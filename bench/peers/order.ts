/** The input of a worker process of bench/peers.ts: the service's address, the quota, and the worker's index. */
export interface Order {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly redisUrl: string;
  /** A file with one number per line. */
  readonly listFile: string;
  /** Requests per window, as the API's operator states them. */
  readonly quota: number;
  readonly windowMs: number;
  /** The index of this worker, from 0, and the number of workers. */
  readonly worker: number;
  readonly workers: number;
  /** The number of requests that a worker keeps in flight. */
  readonly inFlight: number;
  /** The interval of polls, from the acceptance until the status is final. */
  readonly pollMs: number;
}

export const SENDER = '12345';
export const TEXT = 'Spring sale: 20% off everything until Sunday. Reply STOP to opt out.';

const NAME = 'PEER_ORDER';

/** The environment that passes the order to a process. */
export function orderEnvironment(order: Order): Record<string, string> {
  return { [NAME]: JSON.stringify(order) };
}

/** The order of this process. Throws if there is none. */
export function readOrder(): Order {
  const text = process.env[NAME];
  if (text === undefined) throw new Error('this program is started by bench/peers.ts');
  return JSON.parse(text) as Order;
}
