import type { EnqueueOutcome } from '../import/campaign-input.js';
import type { Volley } from '../volley.js';
import type { Answer, Context } from './context.js';
import { EXIT, Refusal } from './exit.js';
import type { InvalidFile } from './invalid-file.js';
import { counted } from './text.js';
import { sayIfNoWorkers, watchCampaign } from './watch.js';

/** What `volley send` tells of a campaign that is there. With `--wait` it follows it to its end, and shows how it goes. */
export async function created(
  context: Context,
  volley: Volley,
  { wait = false }: { readonly wait?: boolean },
  outcome: Extract<EnqueueOutcome, { recipients: number }>,
  written?: InvalidFile,
): Promise<Answer> {
  const { id, recipients, duplicates, invalid, suppressed } = outcome;
  const existing = outcome.kind === 'existing';
  const bad = written?.end();
  const json = {
    id,
    recipients,
    duplicates,
    invalid,
    suppressed,
    existing,
    ...(bad === undefined ? {} : { invalidFile: bad.path }),
  };
  const leftOut = [
    [duplicates, 'duplicate', 'duplicates'],
    [invalid, 'invalid row', 'invalid rows'],
    [suppressed, 'suppressed', 'suppressed'],
  ] as const;
  const counts = leftOut
    .filter(([count]) => count > 0)
    .map(([count, one, many]) => counted(count, one, many));
  const lines = [
    existing
      ? `Campaign ${id} was made with this idempotency key before; nothing was added.`
      : `Campaign ${context.paint('bold', id)}: ${counted(recipients, 'recipient')}${counts.length === 0 ? '' : `; left out: ${counts.join(', ')}`}.`,
    ...(bad === undefined ? [] : [`The bad rows are in ${bad.path}.`]),
    `See how it goes: volley status ${id} --watch`,
  ];
  await sayIfNoWorkers(context, volley);
  if (!wait) return { json, lines };
  if (!context.json) for (const line of lines.slice(0, -1)) context.say(line);
  const { status, exit } = await watchCampaign(context, volley, id);
  if (exit === EXIT.done && status.state === 'cancelled') {
    throw new Refusal(EXIT.failed, 'cancelled', `Campaign ${id} was cancelled.`, { ...json, status });
  }
  return { json: { ...json, status }, lines: [`${id} ${status.state}`], exit };
}
