import { InputError, NoSuchLaneError } from '../../campaign/errors/errors.js';

/** The settings of the lane that a request names, or of the first one. Throws a NoSuchLaneError that lists the configured lanes. */
export function requestedLane<Settings extends { readonly name: string }>(
  { lanes, noFirstLane }: { readonly lanes: readonly Settings[]; readonly noFirstLane?: true },
  name: string | undefined,
): Settings {
  const names = lanes.map((settings) => settings.name);
  if (name === undefined && noFirstLane && lanes.length > 1)
    throw new InputError(`there are several lanes: choose one with --lane (${names.join(', ')})`, {
      field: 'lane',
    });
  const lane = name === undefined ? lanes[0] : lanes.find((settings) => settings.name === name);
  if (lane !== undefined) return lane;
  throw new NoSuchLaneError(name ?? 'default', names, 'configured');
}
