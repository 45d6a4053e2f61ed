import { basename, extname, resolve } from 'node:path';
import { fieldsFrom } from '../../../campaign/fields/field-sets.js';
import { pausedLine, timesIn } from '../answers/schedules.js';
import type { Answer, Context } from '../context/context.js';
import { badInput } from '../context/errors.js';
import { STDIN } from '../files/input.js';
import type { CampaignFlags } from '../flags/campaign-flags.js';
import { campaignId } from '../open/campaign-id.js';
import { destinationOf, via } from '../open/destination.js';
import { withLocalVolley } from '../open/open.js';
import { noteIfNoWorkers } from '../watch/watch.js';

interface AddOptions extends CampaignFlags<'schedule'> {
  cron?: string;
  zone?: string;
  id?: string;
  provided?: string;
  overlap?: 'skip' | 'wait' | 'allow';
  catchUp?: string;
  replace?: boolean;
}

/** Occurrences that `add` shows, so that a mistake in the expression is seen at once. */
const SHOWN_AFTER_ADD = 3;

/** `volley schedule add` */
export function add(context: Context, file: string | undefined, options: AddOptions): Promise<Answer> {
  const { provided, id, cron, zone, overlap, catchUp, toResultsOf } = options;
  if ([file, provided, toResultsOf].filter((list) => list !== undefined).length !== 1)
    throw badInput(
      'Give one list: the path of a CSV file, --provided with the name of a list that your code provides, or --to-results-of.',
    );
  if (file === STDIN)
    throw badInput(
      'A schedule cannot read standard input: give the path of a file that the workers can read.',
    );
  const path = file === undefined ? undefined : resolve(context.cwd, file);
  return withLocalVolley(context, async (volley, setting) => {
    const { add: adding, put } = volley.schedules;
    const source = toResultsOf && {
      ...toResultsOf,
      campaign: await campaignId(volley, toResultsOf.campaign),
    };
    const named =
      source === undefined
        ? (provided ?? basename(path ?? '', extname(path ?? '')))
        : `${source.campaign}-after-${source.after}`;
    const schedule = await (options.replace === true ? put : adding)({
      ...fieldsFrom('schedule', options),
      toResultsOf: source,
      cron,
      zone,
      overlap,
      id: id ?? idFrom(named),
      recipients: path ?? (provided === undefined ? undefined : { provided }),
      catchUp,
    });
    const times = await volley.schedules.next(schedule.id, SHOWN_AFTER_ADD, {
      lanes: [schedule.lane],
    });
    await noteIfNoWorkers(context, volley);
    const destination = destinationOf(setting, schedule.lane);
    const { outcome } = schedule;
    const what =
      outcome === 'existing' || outcome === 'unchanged'
        ? `Schedule ${schedule.id} exists already and sends${via(destination)}; nothing has changed.`
        : `Schedule ${context.paint('bold', schedule.id)} is ${outcome === 'created' ? 'added' : outcome} on lane ${schedule.lane} and sends${via(destination)}.`;
    return {
      json: { ...schedule, destination },
      lines: [
        what,
        ...(schedule.state === 'paused' ? [pausedLine(schedule)] : []),
        ...(schedule.state === 'active' ? ['It is due next:', ...timesIn(schedule, times, context)] : []),
      ],
    };
  });
}

/** `Spring sale` becomes `spring-sale`. */
function idFrom(name: string): string {
  return (
    name
      .normalize('NFKD')
      .toLowerCase()
      .replace(/[^a-z0-9_.]+/g, '-')
      .replace(/^[-_.]+|-+$/g, '')
      .slice(0, 64) || 'schedule'
  );
}
