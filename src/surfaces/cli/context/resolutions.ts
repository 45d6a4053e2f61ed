import { type Command, Option } from 'commander';

/** The options that settle unknown outcomes. They exclude each other. */
const RESOLUTIONS = {
  resend: 'send them again, at the risk of a second message',
  abandon: 'give them up',
  accepted: 'count them as accepted by the service',
} as const;
type ResolutionName = keyof typeof RESOLUTIONS;
const NAMES = ['resend', 'abandon', 'accepted'] as const satisfies readonly ResolutionName[];

/** The values of these options. */
export type ResolutionFlags = { readonly [Name in ResolutionName]?: boolean | undefined };

/** Adds the options to a command. */
export function withResolutions(command: Command): Command {
  for (const name of NAMES) {
    const others = NAMES.filter((each) => each !== name);
    command.addOption(new Option(`--${name}`, RESOLUTIONS[name]).conflicts(others));
  }
  return command;
}

/** The resolution that is given; undefined without one. */
export const resolutionOf = (flags: ResolutionFlags): ResolutionName | undefined =>
  NAMES.find((name) => flags[name]);

/** The error when no resolution is given and there is no terminal on which to ask for one. */
export const CHOOSE_RESOLUTION =
  'Choose how to resolve them: --resend (at the risk of a second message), --abandon, or --accepted.';
