import type { ResolveOutcome } from '../../../app/volley.js';
import { EXIT } from '../../../base/exit-codes.js';
import { moment, until } from '../../../base/moments.js';
import { RESOLVED } from '../../../campaign/states/resolutions.js';
import type { CampaignStatus } from '../../../campaign/views/views.js';
import type { Answer, Context } from '../context/context.js';
import { badInput } from '../context/errors.js';
import { CHOOSE_RESOLUTION, type ResolutionFlags, resolutionOf } from '../context/resolutions.js';
import { LAST, withCampaign } from '../open/campaign-id.js';
import { destinationOf, via } from '../open/destination.js';
import { differencesFrom } from '../open/differences.js';
import { howToStartWorkers } from '../open/how-to-start.js';
import { renderCampaign } from '../output/progress.js';
import { counted, oneLine } from '../output/text.js';
import { noteIfNoWorkers, watchCampaign } from '../watch/watch.js';

/** Requests with an unknown outcome that people see; `--json` has up to 100. */
const UNKNOWN_SHOWN = 10;

/** `volley status` */
export function status(context: Context, typed = LAST, { watch }: { watch?: boolean }): Promise<Answer> {
  return withCampaign(context, typed, async (volley, id, { config }) => {
    const seen = await volley.status(id);
    if (seen.waitingFor !== null && seen.waitingFor !== 'workers') await noteIfNoWorkers(context, volley);
    if (!watch) {
      const { clock, paint, stdout } = context;
      const howToStart = seen.waitingFor === 'workers' ? await howToStartWorkers(context) : '';
      const look = { now: clock(), width: stdout.columns ?? 80, paint, howToStart };
      const picture = renderCampaign(seen, look);
      const differing =
        seen.endedAt === null ? (await differencesFrom(context, volley, config))(seen.lane) : [];
      return { json: seen, lines: [...picture, ...differing, ...unknownLines(context, seen)] };
    }
    const { status: last, exit } = await watchCampaign(context, volley, id);
    return { json: last, lines: unknownLines(context, last), exit };
  });
}

function unknownLines({ clock }: Context, { id, zone, unknownOutcomes }: CampaignStatus): string[] {
  if (unknownOutcomes.length === 0) return [];
  const lines = unknownOutcomes
    .slice(0, UNKNOWN_SHOWN)
    .map(
      ({ request, recipientCount, since, reason }) =>
        `  ${request}  ${counted(recipientCount, 'recipient')}, since ${moment(Date.parse(since), clock(), zone)}: ${oneLine(reason)}`,
    );
  const more = unknownOutcomes.length > UNKNOWN_SHOWN ? ['  … and more; --json shows up to 100'] : [];
  return [`Requests with an unknown outcome; to settle them: volley resolve ${id}`, ...lines, ...more];
}

type ResolveOptions = ResolutionFlags & { readonly request?: string };

/** `volley resolve` */
export function resolve(context: Context, typed: string, options: ResolveOptions): Promise<Answer> {
  const as = resolutionOf(options);
  if (as === undefined && options.request === undefined && context.interactive && !context.json) {
    return walk(context, typed);
  }
  if (as === undefined) return refuseToGuess(context, typed, options);
  return withCampaign(context, typed, async (volley, id, setting) => {
    const outcome = await volley.resolve(id, { as, request: requestOf(id, options.request) });
    const { lane, zone } = await volley.status(id);
    const destination = destinationOf(setting, lane);
    const { requests, recipientCount, tooEarly } = outcome;
    if (as === 'resend') await noteIfNoWorkers(context, volley);
    const done =
      requests === 0
        ? `No request of campaign ${id} was resolved.`
        : `Campaign ${id}: ${counted(requests, 'request')} with ${counted(recipientCount, 'recipient')} ${RESOLVED[as]}${as === 'resend' ? via(destination) : ''}.`;
    return {
      json: { id, destination, as, ...outcome },
      lines: [done, ...laterLines(context, zone, tooEarly)],
      exit: tooEarly === null ? EXIT.done : EXIT.waits,
    };
  });
}

/** Nothing can be asked, and no option says what to do, which is an error unless there is nothing to do. */
function refuseToGuess(context: Context, typed: string, { request }: ResolveOptions): Promise<Answer> {
  return withCampaign(context, typed, async (volley, id, setting) => {
    const { counts, lane } = await volley.status(id);
    if (request === undefined && counts.unknown === 0) {
      const nothing = { as: null, requests: 0, recipientCount: 0, tooEarly: null };
      return {
        json: { id, destination: destinationOf(setting, lane), ...nothing },
        lines: [`Campaign ${id}: no request has an unknown outcome.`],
      };
    }
    throw badInput(CHOOSE_RESOLUTION);
  });
}

/** Settles the requests one by one, as the operator chooses. */
function walk(context: Context, typed: string): Promise<Answer> {
  return withCampaign(context, typed, async (volley, id, setting) => {
    const { walkUnknown } = await import('./resolve-unknown.js');
    const { lane, zone } = await volley.status(id);
    const destination = destinationOf(setting, lane);
    const { settled, skipped } = await walkUnknown(context, volley, id, destination);
    if (settled.some(({ as }) => as === 'resend')) await noteIfNoWorkers(context, volley);
    const done = (['resend', 'accepted', 'abandon'] as const).flatMap((as) => {
      const resolved = settled.filter((each) => each.as === as);
      const requests = resolved.reduce((sum, { outcome }) => sum + outcome.requests, 0);
      const how = `${RESOLVED[as]}${as === 'resend' ? via(destination) : ''}`;
      return requests === 0 ? [] : [`${counted(requests, 'request')} ${how}`];
    });
    const early = settled.flatMap(({ outcome }) => outcome.tooEarly ?? []);
    const [first] = early;
    const later = first ? { requests: early.length, until: first.until } : null;
    const rest = skipped === 0 ? '' : `; ${counted(skipped, 'request')} left`;
    const summary =
      done.length === 0 && skipped === 0
        ? 'no request has an unknown outcome'
        : done.join(', ') || 'nothing resolved';
    return {
      json: { id, destination, settled: settled.length, skipped },
      lines: [`Campaign ${id}: ${summary}${rest}.`, ...laterLines(context, zone, later)],
      exit: skipped > 0 || later !== null ? EXIT.waits : EXIT.done,
    };
  });
}

/** That some requests cannot be settled yet. */
function laterLines({ clock }: Context, zone: string | null, tooEarly: ResolveOutcome['tooEarly']): string[] {
  if (tooEarly === null) return [];
  return [
    `A worker may still be about to send ${counted(tooEarly.requests, 'request')}. Try again at ${until(tooEarly.until, clock(), zone)}.`,
  ];
}

/** The reference of a request, which people may shorten to the part after the id. */
function requestOf(id: string, typed: string | undefined): string | undefined {
  return typed !== undefined && /^\d+$/.test(typed) ? `${id}-${typed}` : typed?.toLowerCase();
}
