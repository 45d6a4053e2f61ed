import type {
  Simulator,
  SimulatorDependencies,
  SimulatorOptions,
} from '../../../src/tools/simulator/index.js';
import { startSimulator } from '../../scene/closing.js';
import { exchange, type NoReply, type RawReply } from './raw-http.js';

/** Starts a simulator with the key `k` for a test, with functions for its requests. */
export async function simulatorUnderTest(
  options: SimulatorOptions = {},
  surroundings: SimulatorDependencies = {},
) {
  const simulator = await startSimulator({ keys: [{ key: 'k' }], ...options }, surroundings);
  return { simulator, ...requestsTo(simulator) };
}

/** Sends (with the given API key or `k`) and polls (with `k`) over raw HTTP. */
export function requestsTo(simulator: Simulator) {
  const origin = simulator.accountBaseUrl;
  const send = (
    recipients: string[],
    { text = 'Hi', correlator = '', key = 'k', patienceMs = 5_000 } = {},
  ) => {
    const address = recipients.map((number) => `tel:${number}`);
    const clientCorrelator = correlator === '' ? undefined : correlator;
    const outboundSMSTextMessage = { message: text };
    const request = { address, senderAddress: 'ACME', outboundSMSTextMessage, clientCorrelator };
    const head = `POST /smsmessaging/v1/outbound/ACME/requests HTTP/1.1\nHost: sim\nAuthorization: Bearer ${key}\nContent-Type: application/json\nContent-Length: *`;
    return exchange(
      origin,
      `${head}\n\n${JSON.stringify({ outboundSMSMessageRequest: request })}`,
      patienceMs,
    );
  };
  const poll = (requestId: string, patienceMs = 5_000) => {
    const path = `/smsmessaging/v1/outbound/ACME/requests/${requestId}/deliveryInfos`;
    return exchange(origin, `GET ${path} HTTP/1.1\nHost: sim\nAuthorization: Bearer k\n\n`, patienceMs);
  };
  return { send, poll };
}

/** The status of a reply, or how the connection ended without one. */
export function statusOf(result: RawReply | NoReply): number | NoReply {
  return typeof result === 'string' ? result : Number(result.statusLine.split(' ')[1]);
}

/** The request id in the Location of a reply. */
export function idOf(result: RawReply | NoReply): string {
  return typeof result === 'string' ? '' : (result.headers.get('location')?.split('/').at(-1) ?? '');
}

/** The delivery statuses in a reply, of a send or of a poll. */
export function statusesOf(result: RawReply | NoReply): string[] {
  if (typeof result === 'string') return [];
  return Array.from(result.body.matchAll(/"deliveryStatus":"(\w+)"/g), ([, status]) => status ?? '');
}
