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
    const { calendar, chance } = this.#world;
    for (const { number, finalAt, final } of taken.recipients) {
      const wrong = final === 'DeliveredToTerminal' ? 'DeliveryImpossible' : 'DeliveredToTerminal';
      // Of a text of several parts the network's report never comes.
      if (chance.is(0.6)) this.#tell(taken, [{ number, status: 'DeliveredToNetwork' }], 0);
      if (finalAt !== Number.POSITIVE_INFINITY) {
        const status = chance.is(0.02) ? wrong : final;
        this.#tell(taken, [{ number, status }], finalAt - calendar.now);
      }
      if (chance.is(0.1)) this.#forge(taken, [{ number, status: wrong }]);
      if (chance.is(0.05)) this.#stray(taken, [{ number, status: wrong }]);
    }
    const many = taken.recipients.filter(({ finalAt }) => finalAt !== Number.POSITIVE_INFINITY);
    if (many.length > 1 && chance.is(0.2)) {
      const latest = Math.max(...many.map(({ finalAt }) => finalAt));
      this.#tell(
        taken,
        many.map(({ number, final }) => ({ number, status: final })),
        latest - calendar.now,
      );
    }
  }

  #tell(taken: Taken, reports: readonly Report[], inMs: number): void {
    const { chance } = this.#world;
    if (chance.is(this.#plan.loss)) return void this.#world.count('notifications lost');
    for (const { number, status } of reports) this.#told.add(`${taken.campaign} ${number} ${status}`);
    const times = chance.is(0.15) ? 2 : 1;
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
    const headers = this.#world.chance.is(0.5) ? { 'x-security-token': 'x'.repeat(this.#token.length) } : {};
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
    const { chance } = this.#world;
    return chance.weighted([
      [50, chance.whole(0, 50)],
      [25, chance.whole(0, 10_000)],
      [25, chance.whole(0, 60_000)],
      [this.#plan.areLate ? 20 : 0, chance.whole(0, 2 * HOUR_MS)],
    ]);
  }

  /** The shapes that the delivery information of an answer may come in. */
  #document(id: string, { correlator }: Taken, reports: readonly Report[]): object {
    const { chance } = this.#world;
    const resourceURL = `https://127.0.0.1/smsmessaging/v1/outbound/ACME/requests/${id}/deliveryInfos`;
    const deliveryInfo = reports.map(({ number, status }) => ({
      address: chance.pick([`tel:${number}`, number, number.slice(1), `00${number.slice(1)}`]),
      deliveryStatus: status,
    }));
    const repeated = correlator !== undefined && chance.is(0.5) ? { clientCorrelator: correlator } : {};
    const [single] = deliveryInfo;
    return chance.pick([
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
    const { chance } = this.#world;
    const inHeader = {
      headers: { authorization: `Bearer ${this.#token}` },
      query: '',
      body: JSON.stringify(document),
    };
    const inQuery = { headers: {}, query: `token=${this.#token}`, body: JSON.stringify(document) };
    const body = JSON.stringify({ securityToken: this.#token, ...document });
    return chance.pick([inHeader, inQuery, { headers: {}, query: '', body }]);
  }

  /** One of the processes gets it, if there is one then that is not about to die; one that is stopped reads it later. */
  #post(notification: Notification, inMs: number, what: string): void {
    const { calendar, chance } = this.#world;
    calendar.enter(inMs, () => {
      const process = chance.pick(this.#world.processes);
      this.#world.count(what);
      calendar.enter(chance.whole(0, 20), () => void process.notified(this.#segment, notification), process);
      return undefined;
    });
  }
}
