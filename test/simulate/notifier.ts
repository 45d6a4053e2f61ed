import { laneCallback } from '../../src/config/index.js';
import type { Notification } from './process.js';
import type { LanePlan, NotificationPlan } from './scenario.js';
import type { Taken } from './service.js';
import type { World } from './world.js';

const HOUR_MS = 3_600_000;

type Report = { number: string; status: string };

/** Tells what becomes of the texts of one lane: late, twice, out of order or never; and so do others who may not. */
export class Notifier {
  readonly #world: World;
  readonly #plan: NotificationPlan;
  readonly #told: Set<string>;
  readonly #segment: string;
  readonly #token: string;
  readonly #lane: string;
  #strangers = 0;

  constructor(world: World, { settings }: LanePlan, plan: NotificationPlan, told: Set<string>) {
    const { callback } = world.scenario.config;
    if (callback === undefined) throw new Error('there is no address to notify');
    this.#world = world;
    this.#plan = plan;
    this.#told = told;
    this.#lane = settings.name;
    const { segment, securityToken } = laneCallback(callback, settings.name);
    this.#segment = segment;
    this.#token = securityToken;
  }

  /** From here on its recipients are told of. */
  accepted(taken: Taken): void {
    const { clock, random } = this.#world;
    for (const { number, finalAt, final } of taken.recipients) {
      const wrong = final === 'DeliveredToTerminal' ? 'DeliveryImpossible' : 'DeliveredToTerminal';
      // Of a text of several parts the network's report never comes.
      if (random.chance(0.6)) this.#tell(taken, [{ number, status: 'DeliveredToNetwork' }], 0);
      if (finalAt !== Number.POSITIVE_INFINITY) {
        const status = random.chance(0.02) ? wrong : final;
        this.#tell(taken, [{ number, status }], finalAt - clock.now);
      }
      if (random.chance(0.1)) this.#forge(taken, [{ number, status: wrong }]);
      if (random.chance(0.05)) this.#stray(taken, [{ number, status: wrong }]);
    }
    const many = taken.recipients.filter(({ finalAt }) => finalAt !== Number.POSITIVE_INFINITY);
    if (many.length > 1 && random.chance(0.2)) {
      const latest = Math.max(...many.map(({ finalAt }) => finalAt));
      this.#tell(
        taken,
        many.map(({ number, final }) => ({ number, status: final })),
        latest - clock.now,
      );
    }
  }

  #tell(taken: Taken, reports: readonly Report[], inMs: number): void {
    const { random } = this.#world;
    if (random.chance(this.#plan.loss)) return void this.#world.count('notifications lost');
    for (const { number, status } of reports) this.#told.add(`${taken.campaign} ${number} ${status}`);
    const times = random.chance(0.15) ? 2 : 1;
    for (let time = 0; time < times; time += 1) {
      this.#post(
        this.#proven(this.#document(taken.id, taken, reports)),
        inMs + this.#delay(),
        'notifications',
      );
    }
  }

  /** By somebody who has found the address and not the token. */
  #forge(taken: Taken, reports: readonly Report[]): void {
    const body = JSON.stringify(this.#document(taken.id, taken, reports));
    const headers = this.#world.random.chance(0.5)
      ? { 'x-security-token': 'x'.repeat(this.#token.length) }
      : {};
    this.#post({ headers, query: '', body }, this.#delay(), 'forged notifications');
  }

  /** The service's word on a request that it does not know when it is asked: somebody else's, with the same people. */
  #stray(taken: Taken, reports: readonly Report[]): void {
    this.#strangers += 1;
    const { correlator: _, ...others } = taken;
    const document = this.#document(
      `s${this.#lane}-${this.#strangers}`,
      { ...others, correlator: undefined },
      reports,
    );
    this.#post(this.#proven(document), this.#delay(), 'stray notifications');
  }

  #delay(): number {
    const { random } = this.#world;
    return random.weighted([
      [50, random.integer(0, 50)],
      [25, random.integer(0, 10_000)],
      [25, random.integer(0, 60_000)],
      [this.#plan.areLate ? 20 : 0, random.integer(0, 2 * HOUR_MS)],
    ]);
  }

  /** The shapes that the delivery information of an answer may come in. */
  #document(id: string, { correlator }: Taken, reports: readonly Report[]): object {
    const { random } = this.#world;
    const resourceURL = `https://127.0.0.1/smsmessaging/v1/outbound/ACME/requests/${id}/deliveryInfos`;
    const deliveryInfo = reports.map(({ number, status }) => ({
      address: random.pick([`tel:${number}`, number, number.slice(1), `00${number.slice(1)}`]),
      deliveryStatus: status,
    }));
    const repeated = correlator !== undefined && random.chance(0.5) ? { clientCorrelator: correlator } : {};
    const [single] = deliveryInfo;
    return random.pick([
      { deliveryInfoList: { resourceURL, deliveryInfo, ...repeated } },
      {
        deliveryInfoNotification: {
          deliveryInfo,
          link: [{ rel: 'OutboundMessageRequest', href: resourceURL }],
        },
      },
      deliveryInfo.length === 1 ? { requestId: id, ...single, ...repeated } : { requestId: id, deliveryInfo },
    ]);
  }

  #proven(document: object): Notification {
    const { random } = this.#world;
    const inHeader = {
      headers: { authorization: `Bearer ${this.#token}` },
      query: '',
      body: JSON.stringify(document),
    };
    const inQuery = { headers: {}, query: `token=${this.#token}`, body: JSON.stringify(document) };
    const body = JSON.stringify({ securityToken: this.#token, ...document });
    return random.pick([inHeader, inQuery, { headers: {}, query: '', body }]);
  }

  /** One of the processes gets it, if there is one then that is not about to die; one that is stopped reads it later. */
  #post(notification: Notification, inMs: number, what: string): void {
    const { clock, random } = this.#world;
    clock.schedule(inMs, () => {
      const process = random.pick(this.#world.processes);
      this.#world.count(what);
      clock.schedule(
        random.integer(0, 20),
        () => void process.notified(this.#segment, notification),
        process,
      );
      return undefined;
    });
  }
}
