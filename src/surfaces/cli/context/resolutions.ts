import { type Command, Option } from 'commander';

/** How to settle what has an unknown outcome, as options: at most one is given. */
const RESOLUTIONS = {
  resend: 'send them again, at the risk of a second message',
  abandon: 'give them up',
  accepted: 'count them as accepted by the service',
} as const;
type ResolutionName = keyof typeof RESOLUTIONS;
const NAMES = ['resend', 'abandon', 'accepted'] as const satisfies readonly ResolutionName[];

/** Options that say how to settle what has an unknown outcome. */
export type ResolutionFlags = { readonly [Name in ResolutionName]?: boolean | undefined };

/** Adds the options. */
export function withResolutions(command: Command): Command {
  for (const name of NAMES) {
    const others = NAMES.filter((each) => each !== name);
    command.addOption(new Option(`--${name}`, RESOLUTIONS[name]).conflicts(others));
  }
  return command;
}

/** The one that is given; undefined: none. */
export const resolutionOf = (flags: ResolutionFlags): ResolutionName | undefined =>
  NAMES.find((name) => flags[name]);

/** What is said if none is given, and nothing can be asked. */
export const CHOOSE_RESOLUTION =
  'Choose how to resolve them: --resend (at the risk of a second message), --abandon, or --accepted.';
