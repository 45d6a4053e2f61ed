import { drawFault } from '../rules/faults.js';
import { decodeSender } from '../rules/sender.js';
import type { Version } from '../rules/versions.js';
import { statusAfter } from '../state/deliveries.js';
import type { KeyState } from '../state/key-ring.js';
import type { Ledger } from '../state/ledger.js';
import type { Simulation } from '../state/simulation.js';
import { effectOf } from '../wire/fault-effects.js';
import { deliveryInfoList, noSuchMessage, resourceUrl, type Served } from '../wire/replies.js';
import { json } from '../wire/wire.js';

/** Answers polls (requests for delivery infos). */
export class Polls {
  readonly #ledger: Ledger;
  readonly #simulation: Simulation;

  constructor(simulation: Simulation, ledger: Ledger) {
    this.#simulation = simulation;
    this.#ledger = ledger;
  }

  /** Serves a poll; `segment` is the sender as spelled in the path. */
  handle(segment: string, requestId: string, key: KeyState, now: number, version: Version): Served {
    const { settings, random } = this.#simulation;
    const fault = drawFault(settings.pollFaults, random);
    if (fault === undefined) return this.#infos(segment, requestId, key, now, version);
    if (fault === 'notFound') return noSuchMessage();
    return effectOf(fault, { now, retryAfterSeconds: settings.faultRetryAfterSeconds });
  }

  /** The decoded sender must equal that of the send request, including `tel:`. Another key gets a 404. */
  #infos(segment: string, requestId: string, key: KeyState, now: number, version: Version): Served {
    const kept = this.#ledger.find(requestId);
    if (kept === undefined || !kept.pollable || kept.key !== key.name || kept.version !== version)
      return noSuchMessage();
    if (kept.sender !== decodeSender(segment)) return noSuchMessage();
    const url = resourceUrl(this.#simulation.settings.resourceHost, kept.sender, requestId, version);
    const infos = deliveryInfoList({ ...kept, resourceUrl: url }, (fate) =>
      statusAfter(fate, now - kept.at, kept),
    );
    return { answer: json(200, infos), outcome: 'infos' };
  }
}
