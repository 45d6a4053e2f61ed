import { NoSuchLaneError } from '../../campaign/errors/errors.js';

/** The settings of the lane that a request names, or of the first one. Throws a NoSuchLaneError that lists the configured lanes. */
export function requestedLane<Settings extends { readonly name: string }>(
  { lanes }: { readonly lanes: readonly Settings[] },
  name: string | undefined,
): Settings {
  const lane = name === undefined ? lanes[0] : lanes.find((settings) => settings.name === name);
  if (lane !== undefined) return lane;
  throw new NoSuchLaneError(
    name ?? 'default',
    lanes.map((settings) => settings.name),
    'configured',
  );
}
