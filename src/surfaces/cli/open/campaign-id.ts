import type { Volley } from '../../../app/volley.js';
import type { LocalConfig } from '../../../base/config/index.js';
import { NotFoundError } from '../../../campaign/errors/errors.js';
import { CAMPAIGN_ID_LENGTH } from '../../../campaign/states/campaign.js';
import { HOW_TO_CREATE } from '../context/action.js';
import type { CliIo } from '../context/context.js';
import { CliError } from '../context/errors.js';
import { type Setting, withLocalVolley } from './open.js';

/** The newest campaign, key, schedule, or request, instead of an id. */
export const LAST = 'last';
/** Campaigns that an ambiguous prefix names in its error. */
const NAMED = 5;

/** Opens Volley for a command on a campaign, which people may write as {@link campaignId} allows. */
export function withCampaign<Result>(
  io: CliIo,
  typed: string,
  use: (volley: Volley, id: string, setting: Setting<LocalConfig>) => Promise<Result>,
): Promise<Result> {
  return withLocalVolley(io, async (volley, setting) =>
    use(volley, await campaignId(volley, typed), setting),
  );
}

type Finding = Pick<Volley, 'list' | 'page' | 'idsWith'>;

/** The whole id of a campaign, written as {@link LAST}, or as the beginning of its id or its whole name, in any letter case. */
export async function campaignId(volley: Finding, typed: string): Promise<string> {
  const name = typed.trim();
  const wanted = name.toLowerCase();
  if (wanted === LAST) return newestId(volley);
  const ids = await volley.idsWith(wanted, NAMED + 1);
  const named = ids.length > 0 || name === '' ? [] : await idsNamed(volley, name);
  if (named.length > 1) throw ambiguous(`Several campaigns are named ${name}`, named, 'Type the id of one.');
  // A whole id may be that of a campaign that is gone: its command says so.
  if (named.length + ids.length === 0 && wanted.length === CAMPAIGN_ID_LENGTH) return wanted;
  return onlyOne([...ids, ...named], typed, 'campaign', '`volley list` shows all campaigns');
}

/** The campaigns of a page of the list, the newest of which are looked through for a name. */
const PER_PAGE = 1_000;

/** The ids of the newest campaigns with this name, in any letter case. */
async function idsNamed(volley: Finding, name: string): Promise<string[]> {
  const { campaigns } = await volley.page({ name, limit: PER_PAGE });
  const isMeant = (other: string): boolean => other.trim().toLowerCase() === name.toLowerCase();
  return campaigns.filter((campaign) => isMeant(campaign.name)).map(({ id }) => id);
}

async function newestId(volley: Pick<Volley, 'list'>): Promise<string> {
  const newest = await volley.list({ limit: NAMED });
  const campaign = newest.find(({ state }) => state !== 'importing') ?? newest[0];
  if (campaign !== undefined) return campaign.id;
  throw new NotFoundError(`There are no campaigns yet. ${HOW_TO_CREATE}`);
}

/** The id of a schedule, and the lane that it must be on: that of the newest one for {@link LAST}, or else the one that was typed. */
export async function scheduleId(
  { schedules }: Pick<Volley, 'schedules'>,
  typed: string,
  lane: string | undefined,
): Promise<{ readonly id: string; readonly lane: string | undefined }> {
  const all = await schedules.list({ lanes: lane === undefined ? undefined : [lane] });
  const newestFirst = all.toReversed().toSorted((a, b) => b.createdAt.localeCompare(a.createdAt));
  const ids = [...new Set(newestFirst.map(({ id }) => id))];
  const id = idAmong(ids, typed, 'schedule', '`volley schedule list` shows all');
  const [newest] = newestFirst;
  const isLast = newest?.id === id && typed.trim().toLowerCase() === LAST;
  return { id, lane: isLast ? newest.lane : lane };
}

/** Requests for call records among which the beginning of an id is looked for. */
const NEWEST = 10_000;

/** The whole id of a request for call records. */
export async function recordsId({ records }: Pick<Volley, 'records'>, typed: string): Promise<string> {
  const ids = (await records.list({ limit: NEWEST })).map(({ id }) => id);
  return idAmong(ids, typed, 'request for call records', '`volley records list` shows all');
}

/** The whole id of a webhook. */
export async function webhookId({ webhooks }: Pick<Volley, 'webhooks'>, typed: string): Promise<string> {
  const ids = (await webhooks.list()).map(({ id }) => id).toReversed();
  return idAmong(ids, typed, 'webhook', '`volley webhook list` shows all');
}

/** An id of an API key. */
const KEY_ID = /^[0-9a-f]{12}$/;

/** The id of an API key. */
export async function keyId({ keys }: Pick<Volley, 'keys'>, typed: string): Promise<string> {
  const wanted = typed.trim().toLowerCase();
  // A whole id may be that of a revoked key, whose campaigns are not all cancelled yet.
  if (KEY_ID.test(wanted)) return wanted;
  const newestFirst = (await keys.list())
    .toReversed()
    .toSorted((a, b) => b.createdAt.localeCompare(a.createdAt));
  const ids = newestFirst.map(({ id }) => id);
  return idAmong(ids, typed, 'key', '`volley keys list` shows all keys');
}

/** One of these ids, newest first, which people may write as {@link LAST}, as its beginning, and in any letter case. */
export function idAmong(ids: readonly string[], typed: string, what: string, advice: string): string {
  const wanted = typed.trim().toLowerCase();
  const whole = ids.find((id) => id.toLowerCase() === wanted);
  if (whole !== undefined) return whole;
  if (wanted === LAST) {
    const [newest] = ids;
    if (newest !== undefined) return newest;
    throw new NotFoundError(`there is no ${what} yet`);
  }
  return onlyOne(
    ids.filter((id) => id.toLowerCase().startsWith(wanted)),
    typed,
    what,
    advice,
  );
}

/** The only id that begins with what was typed. */
function onlyOne(found: readonly string[], typed: string, what: string, advice: string): string {
  const [only, ...others] = found;
  if (only === undefined) throw new NotFoundError(`there is no ${what} ${typed}; ${advice}`);
  if (others.length === 0) return only;
  throw ambiguous(`Several ids begin with ${typed}`, found, 'Type more of the one you mean.');
}

function ambiguous(what: string, found: readonly string[], todo: string): CliError {
  const named = found.slice(0, NAMED).join(', ');
  const more = found.length > NAMED ? ', and more' : '';
  return new CliError('ambiguous', `${what}: ${named}${more}. ${todo}`, {
    ids: found.slice(0, NAMED),
  });
}
