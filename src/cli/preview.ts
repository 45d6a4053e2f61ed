import type { Command } from 'commander';
import { action, examples } from './action.js';
import type { Answer, Context } from './context.js';
import { campaignInput, type ListOptions, mustBeToCome, withListOptions } from './list-options.js';
import { withLocalVolley } from './open.js';
import { renderInvalid, renderPreview } from './show-preview.js';
import { counted } from './text.js';

/** Adds `volley preview`. */
export function addPreview(program: Command, context: Context): void {
  withListOptions(program.command('preview').summary('what a list and a text come to'), context.clock)
    .description(
      'Shows what a list and a text come to: recipients, segments, requests, time and samples. Nothing is stored and nothing is sent.',
    )
    .option('--json', 'print one JSON object')
    .addHelpText('after', examples('preview spring.csv --sender ACME --message "Hi {{name}}"'))
    .action(action(context, (file: string, options: ListOptions) => preview(context, file, options)));
}

function preview(context: Context, file: string, options: ListOptions): Promise<Answer> {
  mustBeToCome(options.at, context.clock());
  return withLocalVolley(context, async (volley) => {
    const seen = await volley.preview(campaignInput(file, options));
    const bad =
      seen.invalid === 0
        ? []
        : [
            context.paint('red', `${counted(seen.invalid, 'row')} cannot be sent to:`),
            ...renderInvalid(seen.problems, seen.invalid),
          ];
    return { json: seen, lines: [...renderPreview(seen, context.paint), ...bad] };
  });
}
