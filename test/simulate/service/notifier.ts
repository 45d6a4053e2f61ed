import { laneCallback } from '../../../src/base/config/index.js';
import type { Notification } from '../process/notifications.js';
import type { RandomStream } from '../random.js';
import type { LanePlan, NotificationPlan } from '../scenario/scenario.js';
import type { World } from '../world.js';
import type { AcceptedRequest } from './service.js';

const HOUR_MS = 3_600_000;

type Report = { number: string; status: string };

/** Sends delivery notifications for one lane: late, twice, out of order, or never. It also sends forged ones. */
export class Notifier {
  readonly #world: World;
  readonly #random: RandomStream;
  readonly #plan: NotificationPlan;
  readonly #reported: Set<string>;
  readonly #segment: string;
  readonly #token: string;
  readonly #isV3: boolean;
  readonly #lane: string;
  #strayCount = 0;

  constructor(world: World, { settings }: LanePlan, plan: NotificationPlan, reported: Set<string>) {
    const { callback } = world.scenario.config;
    if (callback === undefined) throw new Error('no callback address is configured');
    this.#world = world;
    this.#random = world.streams(`notifier of ${settings.name}`);
    this.#plan = plan;
    this.#reported = reported;
    this.#lane = settings.name;
    this.#isV3 = settings.profile === 'v3';
    const { segment, securityToken } = laneCallback(callback, settings.name);
    this.#segment = segment;
    this.#token = securityToken;
  }

  /** Schedules the notifications of an accepted request. */
  accepted(request: AcceptedRequest): void {
    const { clock } = this.#world;
    const random = this.#random;
    for (const { number, finalAt, final } of request.recipients) {
      const wrong = final === 'DeliveredToTerminal' ? 'DeliveryImpossible' : 'DeliveredToTerminal';
      // Messages with several segments get no DeliveredToNetwork notification.
      if (random.chance(0.6)) this.#notify(request, [{ number, status: 'DeliveredToNetwork' }], 0);
      if (finalAt !== Number.POSITIVE_INFINITY) {
        const status = random.chance(0.02) ? wrong : final;
        this.#notify(request, [{ number, status }], finalAt - clock.now);
      }
      if (random.chance(0.1)) this.#forge(request, [{ number, status: wrong }]);
      if (random.chance(0.05)) this.#stray(request, [{ number, status: wrong }]);
    }
    const many = request.recipients.filter(({ finalAt }) => finalAt !== Number.POSITIVE_INFINITY);
    if (many.length > 1 && random.chance(0.2)) {
      const latest = Math.max(...many.map(({ finalAt }) => finalAt));
      this.#notify(
        request,
        many.map(({ number, final }) => ({ number, status: final })),
        latest - clock.now,
      );
    }
  }

  #notify(request: AcceptedRequest, reports: readonly Report[], inMs: number): void {
    const random = this.#random;
    if (random.chance(this.#plan.loss)) return void this.#world.count('notifications lost');
    for (const { number, status } of reports) this.#reported.add(`${request.campaign} ${number} ${status}`);
    const times = random.chance(0.15) ? 2 : 1;
    for (let time = 0; time < times; time += 1) {
      this.#post(
        this.#authenticated(this.#document(request.id, request, reports)),
        inMs + this.#delay(),
        'notifications',
      );
    }
  }

  /** A notification from an attacker who knows the callback address but not the token. */
  #forge(request: AcceptedRequest, reports: readonly Report[]): void {
    const body = JSON.stringify(this.#document(request.id, request, reports));
    const headers = this.#random.chance(0.5) ? { 'x-security-token': 'x'.repeat(this.#token.length) } : {};
    this.#post({ headers, query: '', body }, this.#delay(), 'forged notifications');
  }

  /** A genuine notification of a request that this lane did not make: another client's, with the same recipients. */
  #stray(request: AcceptedRequest, reports: readonly Report[]): void {
    this.#strayCount += 1;
    const { correlator: _, ...others } = request;
    const document = this.#document(
      `s${this.#lane}-${this.#strayCount}`,
      { ...others, correlator: undefined },
      reports,
    );
    this.#post(this.#authenticated(document), this.#delay(), 'stray notifications');
  }

  #delay(): number {
    const random = this.#random;
    return random.weighted([
      [50, random.integer(0, 50)],
      [25, random.integer(0, 10_000)],
      [25, random.integer(0, 60_000)],
      [this.#plan.areLate ? 20 : 0, random.integer(0, 2 * HOUR_MS)],
    ]);
  }

  /** The notification's body, in one of the shapes that delivery information may have. */
  #document(id: string, { correlator }: AcceptedRequest, reports: readonly Report[]): object {
    const random = this.#random;
    const resourceURL = `https://127.0.0.1/smsmessaging/v1/outbound/ACME/requests/${id}/deliveryInfos`;
    if (this.#isV3) {
      const infos = reports.map(({ number, status }) => ({
        address: `tel:${number}`,
        deliveryStatus: status,
        callbackData: correlator,
      }));
      return { deliveryInfoList: { resourceURL, deliveryInfo: infos } };
    }
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

  #authenticated(document: object): Notification {
    const random = this.#random;
    if (this.#isV3 && 'deliveryInfoList' in document) {
      const list = { ...Object(document.deliveryInfoList), securityToken: this.#token };
      return { headers: {}, query: '', body: JSON.stringify({ deliveryInfoList: list }) };
    }
    const inHeader = {
      headers: { authorization: `Bearer ${this.#token}` },
      query: '',
      body: JSON.stringify(document),
    };
    const inQuery = { headers: {}, query: `token=${this.#token}`, body: JSON.stringify(document) };
    const body = JSON.stringify({ securityToken: this.#token, ...document });
    return random.pick([inHeader, inQuery, { headers: {}, query: '', body }]);
  }

  /** Delivers a notification to a random process. A suspended process handles it later; a killed one never does. */
  #post(notification: Notification, inMs: number, what: string): void {
    const { clock } = this.#world;
    const random = this.#random;
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
