import { type Config, cleartextProblems, type LaneSettings } from '../../base/config/index.js';
import { InputError } from '../../campaign/errors/errors.js';
import { checkSender } from '../../campaign/text/sender.js';
import { type ConformanceOptions, recipientsOf } from './report.js';

/** The lane that an option names, or the only one. Throws an InputError that lists the lanes. */
export function laneOf({ lanes }: Config, name: string | undefined): LaneSettings {
  const names = lanes.map((each) => each.name).join(', ');
  const lane =
    name === undefined
      ? lanes.length === 1
        ? lanes[0]
        : undefined
      : lanes.find((each) => each.name === name);
  if (lane !== undefined) return lane;
  const why =
    name === undefined ? 'there are several lanes; choose one' : `there is no lane ${name}; the lanes are`;
  throw new InputError(`${why}: ${names}`, { field: 'lane' });
}

/** The addresses of the tested services, without trailing slashes. Throws an InputError if one is not valid. */
export function addressesOf(
  config: Config,
  lane: LaneSettings,
  options: ConformanceOptions,
): { baseUrl: string; accountBaseUrl: string } {
  const baseUrl = addressOf('baseUrl', options.baseUrl ?? lane.baseUrl ?? config.messagingBaseUrl);
  const isDerived =
    options.baseUrl !== undefined && config.accountBaseUrl === new URL(config.messagingBaseUrl).origin;
  const accountBaseUrl = isDerived ? new URL(baseUrl).origin : config.accountBaseUrl;
  const addresses = {
    baseUrl,
    accountBaseUrl: addressOf('accountBaseUrl', options.accountBaseUrl ?? accountBaseUrl),
  };
  const [problem] = cleartextProblems({
    allowed: config.allowInsecure,
    redisUrl: undefined,
    secretsKey: undefined,
    previousSecretsKey: undefined,
    services: { '`baseUrl`': addresses.baseUrl, '`accountBaseUrl`': addresses.accountBaseUrl },
    hasAccounts: false,
  });
  if (problem !== undefined) throw new InputError(problem);
  return addresses;
}

function addressOf(field: string, text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isPlain = url !== undefined && `${url.username}${url.password}${url.search}${url.hash}` === '';
  if (!isPlain || !/^https?:$/.test(url.protocol))
    throw new InputError(
      `\`${field}\` must be an http or https address without a user, a query, and a fragment`,
      { field },
    );
  return url.href.replace(/\/+$/, '');
}

/** Throws an InputError if the message of the test, or an address for its notifications, is not valid. */
export function checkOptions({ send, request, subscribe, listen }: ConformanceOptions): void {
  for (const sender of [send?.sender, request?.sender]) {
    const check = sender === undefined ? undefined : checkSender(sender);
    if (check?.kind === 'invalid') throw new InputError(check.reason, { field: 'sender' });
  }
  const recipients = send === undefined ? [] : recipientsOf(send);
  if (send !== undefined && (recipients.length === 0 || new Set(recipients).size < recipients.length))
    throw new InputError('to must be one number, or several different ones', { field: 'to' });
  if (recipients.some((number) => !/^\+[1-9]\d{3,14}$/.test(number)))
    throw new InputError('to must be an international number such as +447700900123', { field: 'to' });
  if (send?.twice === true && send.correlator === false)
    throw new InputError('twice needs a correlator', { field: 'twice' });
  if (subscribe !== undefined) addressOf('subscribe', subscribe.url);
  if (listen === undefined) return;
  addressOf('listen', listen.url);
  if (send === undefined)
    throw new InputError('listen records the notifications of a message: send one with it', {
      field: 'listen',
    });
}
