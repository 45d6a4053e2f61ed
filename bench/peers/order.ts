/** What every worker process of bench/peers.ts is told: where the service is, what its quota is, which worker it is. */
export interface Order {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly redisUrl: string;
  /** A file with a number a line. */
  readonly listFile: string;
  /** Requests a window, as the operator of the API tells them. */
  readonly quota: number;
  readonly windowMs: number;
  /** This worker, from 0, and how many there are. */
  readonly worker: number;
  readonly workers: number;
  /** Requests in flight at a time, of one worker. */
  readonly inFlight: number;
  /** A request is asked about so long after it was accepted, and again after as long until it is final. */
  readonly pollMs: number;
}

export const SENDER = '12345';
export const TEXT = 'Spring sale: 20 % off everything until Sunday. Reply STOP to opt out.';

const NAME = 'PEER_ORDER';

/** The environment that hands the order to a process. */
export function orderEnvironment(order: Order): Record<string, string> {
  return { [NAME]: JSON.stringify(order) };
}

/** The order of this process. Throws in a process that nobody gave one. */
export function readOrder(): Order {
  const text = process.env[NAME];
  if (text === undefined) throw new Error('this program is started by bench/peers.ts');
  return JSON.parse(text) as Order;
}
