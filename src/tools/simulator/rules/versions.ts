/*
 * The two versions of the messaging interface that the simulator serves, each below its own path. What version 3 does is written
 * from its documentation, not from the client's profile, so that the two cannot share a misreading.
 */

/** A version of the messaging interface. */
export type Version = 'v1' | 'v3';

/** The path before `/outbound` of each version. */
export const BASE_PATHS = { v1: '/smsmessaging/v1', v3: '/sms/v3' } as const satisfies Record<
  Version,
  string
>;

/** The version that serves a path; undefined if none does. */
export function versionOf(path: string): Version | undefined {
  if (path.startsWith(`${BASE_PATHS.v1}/`)) return 'v1';
  return path.startsWith(`${BASE_PATHS.v3}/`) ? 'v3' : undefined;
}

/** How long version 3 remembers a correlator. */
export const CORRELATOR_LIFETIME_MS = 24 * 3_600_000;

/** The code of each delivery status in version 3. */
const STATUS_CODES: Readonly<Record<string, number>> = {
  MessageAccepted: 12,
  DeliveredToNetwork: 6,
  PartiallyDelivered: 13,
  DeliveredToTerminal: 2,
  DeliveryUncertain: 7,
  DeliveryImpossible: 3,
  InvalidSrcAddress: 10,
  InvalidDestAddress: 11,
};

/** What the fields of a delivery information depend on. */
export interface InfoSource {
  readonly version: Version;
  readonly callbackData: string | undefined;
  /** The parts in which the text is sent. */
  readonly parts: number;
}

/** The fields that a delivery information has only in version 3. `arrived`: the parts that are on the device, if some are not. */
export function infoFields(
  { version, callbackData, parts }: InfoSource,
  status: string,
  arrived?: number,
): object {
  if (version === 'v1') return {};
  return {
    deliveryStatusCode: STATUS_CODES[status],
    callbackData,
    ...(parts > 1 && partFields(status, parts, arrived)),
  };
}

/** All parts of a message arrive at the same time, so a status is that of each part. */
function partFields(status: string, parts: number, arrived?: number): object {
  const delivered = status === 'DeliveredToTerminal' ? parts : (arrived ?? 0);
  return {
    smsPartsDeliveredToTerminal: delivered,
    ...(/^(DeliveryImpossible|Invalid\w+)$/.test(status) && { smsPartsUndeliverable: parts }),
    ...(status === 'DeliveryUncertain' && { smsPartsUncertain: parts }),
  };
}

/** The fields that a delivery information list has only in version 3. */
export function listFields({ version, parts }: Pick<InfoSource, 'version' | 'parts'>): object {
  return version === 'v1' ? {} : { smsParts: parts };
}
