import { type Command, Option } from 'commander';
import type { Resolution } from '../volley.js';
import { action, examples } from './action.js';
import type { Answer, Context } from './context.js';
import { badInput, EXIT } from './exit.js';
import { withLocalVolley } from './open.js';
import { counted, until } from './text.js';
import { sayIfNoWorkers } from './watch.js';

interface ResolveOptions {
  resend?: boolean;
  abandon?: boolean;
  accepted?: boolean;
  request?: string;
}

const WORDS = {
  resend: 'to be sent again',
  abandon: 'given up',
  accepted: 'counted as accepted',
} as const satisfies Record<Resolution['as'], string>;

/** Adds `volley resolve`. */
export function addResolve(program: Command, context: Context): void {
  program
    .command('resolve')
    .summary('settle requests of whose outcome nobody knows')
    .description(
      'Settles the requests of a campaign of whose outcome nobody knows. Exit code 3: some could not be settled yet.',
    )
    .argument('<id>', 'the campaign')
    .addOption(
      new Option('--resend', 'send them again, at the risk of a second text').conflicts([
        'abandon',
        'accepted',
      ]),
    )
    .addOption(new Option('--abandon', 'give them up').conflicts(['resend', 'accepted']))
    .addOption(
      new Option('--accepted', 'count them as accepted by the service').conflicts(['resend', 'abandon']),
    )
    .option('--request <reference>', 'only this one, as `volley status` names it (default: all)')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      examples(
        'resolve 1a2b3c4d5e6f7 --abandon',
        'resolve 1a2b3c4d5e6f7 --resend --request 1a2b3c4d5e6f7-12',
      ),
    )
    .action(action(context, (id: string, options: ResolveOptions) => resolve(context, id, options)));
}

function resolve(context: Context, id: string, options: ResolveOptions): Promise<Answer> {
  const as = (['resend', 'abandon', 'accepted'] as const).find((word) => options[word]);
  if (as === undefined) {
    throw badInput(
      'Say how to settle them: --resend (at the risk of a second text), --abandon, or --accepted.',
    );
  }
  return withLocalVolley(context, async (volley) => {
    const outcome = await volley.resolve(id, { as, request: options.request });
    const { requests, recipients, tooEarly } = outcome;
    if (as === 'resend') await sayIfNoWorkers(context, volley);
    const done =
      requests === 0
        ? `No request of campaign ${id} was settled.`
        : `${counted(requests, 'request')} of campaign ${id} with ${counted(recipients, 'recipient')} ${WORDS[as]}.`;
    const later =
      tooEarly === null
        ? []
        : [
            `${counted(tooEarly.requests, 'request')} may still be about to be sent: try again at ${until(tooEarly.until, context.clock())}.`,
          ];
    return {
      json: { id, as, ...outcome },
      lines: [done, ...later],
      exit: tooEarly === null ? EXIT.done : EXIT.waits,
    };
  });
}
