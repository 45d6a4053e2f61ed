import { PROFILES } from '../../../src/base/profiles/index.js';
import type { Exchange, Failure, Reply } from '../../../src/service/client/exchange.js';
import type { MessagingClient, SendRequest } from '../../../src/service/client/messaging.js';
import {
  type PollOutcome,
  pollOutcome,
  type SendOutcome,
  sendOutcome,
} from '../../../src/service/client/outcome.js';
import { createQuotaModel, type QuotaModel } from '../../../src/tools/simulator/rules/quota-models.js';
import type { Process } from '../process/process.js';
import type { RandomStream } from '../random.js';
import { type LanePlan, ordinalOf } from '../scenario/scenario.js';
import { OUTBOX_ID } from '../server/lane-state.js';
import { START } from '../server/server.js';
import type { World } from '../world.js';
import { Notifier } from './notifier.js';

/** A send request that has left a process. */
export interface Attempt {
  readonly campaign: string;
  readonly text: string;
  readonly recipients: readonly string[];
  readonly correlator: string | undefined;
  readonly at: number;
  /** Until when it may arrive, ms of virtual time. */
  arrivesBy: number;
  /** Whether its sender knows that it was not accepted, or an operator has decided to disregard it. */
  isClosed: boolean;
}

/** A request that the service has accepted. */
export interface AcceptedRequest {
  readonly id: string;
  /** ms of virtual time. */
  readonly at: number;
  readonly campaign: string;
  readonly correlator: string | undefined;
  readonly recipients: readonly { number: string; finalAt: number; final: string }[];
}

const failure = (cause: Failure['cause'], code: string, left: boolean): Failure => ({
  kind: 'failure',
  cause,
  code,
  left,
});

/** The error of a service that knows the correlator, and does not repeat its first response. */
const DUPLICATE = JSON.stringify({
  requestError: { serviceException: { messageId: 'SVC0005', text: 'duplicate correlator', variables: [] } },
});

/** The failure of a request whose send deadline has passed. */
const TOO_LATE = failure('timeout', 'ERR_LATE', false);

/** The messaging service for one lane, in virtual time, with every outcome that the network may produce. */
export class Service {
  /** How often each `campaign number` was accepted. */
  readonly accepted = new Map<string, number>();
  /** Every `campaign number status` that was reported in a response or a notification. */
  readonly reported = new Set<string>();
  isSilent: boolean;
  /** The status with which it refuses every request of this lane. */
  refusalStatus: 401 | 403 | undefined;
  /** When the last refused request was sent, ms of virtual time. */
  refusedAt = -1;
  readonly #world: World;
  readonly #plan: LanePlan;
  readonly #random: RandomStream;
  readonly #quota: QuotaModel;
  readonly #requests = new Map<string, AcceptedRequest>();
  readonly #byCorrelator = new Map<string, AcceptedRequest>();
  readonly #notifier: Notifier | undefined;
  #isFaulty: boolean;

  constructor(world: World, plan: LanePlan) {
    this.#world = world;
    this.#plan = plan;
    this.#random = world.streams(`service of ${plan.settings.name}`);
    this.#quota = createQuotaModel(plan.model, plan.hidden, world.scenario.config.quotaWindowMs);
    this.isSilent = plan.isBlocked;
    this.#isFaulty = world.scenario.faults.has('service');
    const { notifications } = world.scenario;
    if (notifications !== undefined) this.#notifier = new Notifier(world, plan, notifications, this.reported);
  }

  /** Ends all faults. Requests with invalid numbers are still refused. */
  calm(): void {
    this.#isFaulty = false;
    this.refusalStatus = undefined;
  }

  clientOf(process: Process): MessagingClient {
    const profile = PROFILES[this.#plan.settings.profile];
    const reading = { now: START + this.#world.clock.now, secrets: [], profile };
    return {
      send: async (request, { authorization: token }, permit) => {
        if (permit.isExpired()) return sendOutcome(TOO_LATE, request, reading);
        const attempt: Attempt = {
          campaign: this.#world.campaignOf(request.text),
          text: request.text,
          recipients: request.recipients,
          correlator: request.clientCorrelator,
          at: this.#world.clock.now,
          arrivesBy: this.#world.clock.now + process.config.requestTimeoutMs,
          isClosed: false,
        };
        const exchange = await this.#exchange(
          process,
          'send',
          (status) => this.#answerSend(request, token, status),
          attempt,
        );
        const outcome = sendOutcome(exchange, request, reading);
        attempt.arrivesBy = Math.min(attempt.arrivesBy, this.#world.clock.now);
        // Never set it back to false: an operator may have closed the attempt in the meantime.
        if (isNotAccepted(outcome)) attempt.isClosed = true;
        this.#traceOutcome(process, 'send', outcome.kind, request.recipients.join(' '));
        return outcome;
      },
      deliveryInfos: async (_sender, requestId, { authorization: token }, permit) => {
        if (permit.isExpired()) return pollOutcome(TOO_LATE, reading);
        const exchange = await this.#exchange(process, 'poll', (status) =>
          this.#answerPoll(requestId, token, status),
        );
        const outcome: PollOutcome = pollOutcome(exchange, reading);
        this.#traceOutcome(process, 'poll', outcome.kind, requestId);
        return outcome;
      },
      close: () => {},
    };
  }

  #traceOutcome(process: Process, kind: string, outcome: string, what: string): void {
    if (this.#world.trace.isWanted) this.#world.trace.add(process.name, `${kind} of ${what}: ${outcome}`);
  }

  #exchange(
    process: Process,
    kind: 'send' | 'poll',
    decide: (status?: string) => Reply,
    attempt?: Attempt,
  ): Promise<Exchange> {
    const { clock, checker, scenario } = this.#world;
    const random = this.#random;
    const lane = this.#plan.settings.name;
    const sentAt = clock.now;
    return new Promise((resolve) => {
      const after = (ms: number, exchange: Exchange): void =>
        void clock.schedule(ms, () => void resolve(exchange), process);
      const scripted = this.#world.stage?.fateOf(kind);
      const decided = kind === 'send' ? this.#world.rollback?.fateOf(process) : undefined;
      const fate = scripted?.kind ?? decided ?? (this.#isFaulty ? this.#fate() : 'answered');
      if (fate === 'refused') {
        this.#world.count('connections refused');
        return after(random.integer(1, 50), failure('network', 'ECONNREFUSED', false));
      }
      try {
        checker.sent(process, lane, kind, attempt);
      } catch (violation) {
        return this.#world.fail(violation);
      }
      const { requestTimeoutMs } = process.config;
      process.machine.alarm(requestTimeoutMs, () => resolve(failure('timeout', 'ETIMEDOUT', true)));
      const late = this.#isFaulty && random.chance(0.05);
      const usual = late ? random.integer(0, requestTimeoutMs) : random.integer(1, scenario.latencyMs);
      const transit =
        scripted?.arrivesInMs ??
        (kind === 'send' ? this.#world.lateRequest?.sent(process, lane) : undefined) ??
        usual;
      if (fate === 'reset') {
        this.#world.count('resets before acceptance');
        return after(transit, failure('network', 'ECONNRESET', true));
      }
      if (fate === 'overtaken') after(1, failure('network', 'ECONNRESET', true));
      clock.schedule(transit, () => {
        checker.arrived(lane);
        if (this.isSilent) return undefined;
        const reply = scripted?.refusal === undefined ? decide(scripted?.status) : failed(scripted.refusal);
        if (reply.status === 401 || reply.status === 403) this.refusedAt = Math.max(this.refusedAt, sentAt);
        if (reply.status === 200 || reply.status === 201) checker.answered(lane, sentAt);
        if (this.#world.trace.isWanted) {
          this.#world.trace.add(
            'service',
            `${lane} ${kind} ${attempt?.recipients.join(' ') ?? ''} ${reply.status}`,
          );
        }
        if (fate === 'overtaken') return undefined;
        if (fate === 'silence') return void this.#world.count('missing responses');
        if (fate === 'resetAfter') {
          this.#world.count('resets after acceptance');
          return void after(random.integer(1, 50), failure('network', 'ECONNRESET', true));
        }
        const response = scripted?.response === undefined ? reply : failed(scripted.response);
        return void after(scripted?.returnsInMs ?? random.integer(1, scenario.latencyMs), response);
      });
    });
  }

  #fate() {
    const lost = this.#world.scenario.notifications?.isAmbiguous === true ? 20 : 5;
    return this.#random.weighted([
      [80, 'answered' as const],
      [4, 'refused' as const],
      [lost, 'reset' as const],
      [lost, 'resetAfter' as const],
      [6, 'silence' as const],
    ]);
  }

  #checkAdmission(token: string): Reply | undefined {
    const { clock } = this.#world;
    const random = this.#random;
    const { credentials } = this.#plan.settings;
    const accounts = this.#world.accountsOf(this.#plan.settings.name);
    if (credentials.kind === 'account' && !accounts.isValid(token)) return reply(401, 'no such token');
    if (this.refusalStatus !== undefined) return reply(this.refusalStatus, 'not accepted');
    if (this.#isFaulty) {
      if (random.chance(0.008)) return this.#fault(credentials.kind === 'account' ? 403 : 401);
      if (random.chance(0.04)) return this.#fault(503);
      if (random.chance(0.04))
        return this.#fault(429, random.chance(0.5) ? { 'retry-after': String(random.integer(1, 20)) } : {});
    }
    const wait = this.#quota.arrive(START + clock.now);
    if (wait === 0) return undefined;
    this.#world.checker.throttled(this.#plan.settings.name);
    return reply(
      429,
      'too many',
      random.chance(0.5) ? { 'retry-after': String(Math.ceil(wait / 1_000)) } : {},
    );
  }

  #fault(status: number, headers: Reply['headers'] = {}): Reply {
    this.#world.count(`responses ${status}`);
    return { ...failed(status), headers };
  }

  /** The accepted request with this id. */
  request(id: string): AcceptedRequest | undefined {
    return this.#requests.get(id);
  }

  #answerSend({ text, recipients, clientCorrelator }: SendRequest, token: string, status?: string): Reply {
    const { clock } = this.#world;
    const campaign = this.#world.campaignOf(text);
    const random = this.#random;
    const refusal = this.#checkAdmission(token);
    if (refusal !== undefined) return refusal;
    const { bad } = this.#world.campaign(campaign);
    if (recipients.some((number) => bad.has(ordinalOf(number)))) return reply(400, 'a bad number');
    const known = this.#remembered(clientCorrelator ?? '');
    const { knows } = this.#plan;
    if (known !== undefined && knows !== undefined) {
      this.#world.count(`correlators refused with ${knows}`);
      return knows === 'SVC0005' ? reply(400, DUPLICATE) : failed(knows);
    }
    const accepted: AcceptedRequest = known ?? {
      id: `r${this.#plan.settings.name}-${this.#requests.size + 1}`,
      at: clock.now,
      campaign,
      correlator: clientCorrelator,
      recipients: recipients.map((number) => ({
        number,
        finalAt:
          clock.now +
          random.weighted([
            [80, random.integer(0, 10_000)],
            [17, random.integer(0, 90_000)],
            [3, Number.POSITIVE_INFINITY],
          ]),
        final: random.chance(0.85) ? 'DeliveredToTerminal' : 'DeliveryImpossible',
      })),
    };
    if (known === undefined) {
      for (const number of recipients) {
        const place = `${campaign} ${number}`;
        this.accepted.set(place, (this.accepted.get(place) ?? 0) + 1);
      }
      this.#requests.set(accepted.id, accepted);
      if (campaign === OUTBOX_ID) for (const number of recipients) this.#world.outbox?.accepted(number);
      this.#notifier?.accepted(accepted);
      if (clientCorrelator !== undefined) this.#byCorrelator.set(clientCorrelator, accepted);
    }
    if (this.#isFaulty && random.chance(0.03)) return this.#fault(500);
    if (this.#isFaulty && random.chance(0.02)) return reply(200, 'not JSON');
    if (this.#isFaulty && random.chance(0.02)) return reply(201, '{}');
    const resourceURL = `https://127.0.0.1/smsmessaging/v1/outbound/ACME/requests/${accepted.id}`;
    const deliveryInfoList = {
      resourceURL: `${resourceURL}/deliveryInfos`,
      deliveryInfo: this.#infos(accepted, status),
    };
    return reply(201, JSON.stringify({ outboundSMSMessageRequest: { deliveryInfoList, resourceURL } }));
  }

  /** The accepted request with that correlator, if the service deduplicates correlators and has not forgotten this one. */
  #remembered(correlator: string): AcceptedRequest | undefined {
    const { clientCorrelator } = this.#plan.settings;
    if (typeof clientCorrelator === 'string') return undefined;
    const known = this.#byCorrelator.get(correlator);
    const isForgotten =
      known !== undefined && this.#world.clock.now - known.at >= clientCorrelator.deduplicatesForMs;
    return isForgotten ? undefined : known;
  }

  #answerPoll(id: string, token: string, status?: string): Reply {
    const refusal = this.#checkAdmission(token);
    if (refusal !== undefined) return refusal;
    const accepted = this.#requests.get(id);
    if (accepted === undefined || (this.#isFaulty && this.#random.chance(0.03)))
      return reply(404, 'no such message');
    return reply(200, JSON.stringify({ deliveryInfoList: { deliveryInfo: this.#infos(accepted, status) } }));
  }

  /** The delivery infos. Unless a script says what they are, a few are outdated, contradict earlier ones, or have an undocumented status. */
  #infos({ campaign, recipients }: AcceptedRequest, scripted?: string) {
    const { clock } = this.#world;
    const random = this.#random;
    return recipients.map(({ number, finalAt, final }) => {
      const strange = random.chance(0.03)
        ? random.pick(['DeliveryImpossible', 'DeliveredToTerminal', 'Queued'])
        : undefined;
      const isFinal = clock.now >= finalAt && !random.chance(0.05);
      const status =
        scripted ?? (isFinal ? (strange ?? final) : strange === 'Queued' ? strange : 'DeliveredToNetwork');
      this.reported.add(`${campaign} ${number} ${status}`);
      return { address: `tel:${number}`, deliveryStatus: status };
    });
  }
}

function reply(status: number, body: string, headers: Reply['headers'] = {}): Reply {
  return { kind: 'reply', status, statusText: '', headers, body };
}

function failed(status: number): Reply {
  return reply(status, 'worse');
}

function isNotAccepted(outcome: SendOutcome): boolean {
  switch (outcome.kind) {
    case 'throttled':
    case 'unauthorised':
    case 'stopped':
    case 'refused':
    case 'notSent':
      return true;
    case 'accepted':
    case 'unknown':
      return false;
    default:
      return outcome satisfies never;
  }
}
