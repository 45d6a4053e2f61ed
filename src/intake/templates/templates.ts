import { z } from 'zod';
import type { LocalConfig } from '../../base/config/index.js';
import { requestedLane } from '../../base/config/requested-lane.js';
import { jsonOrUndefined } from '../../base/json.js';
import type { Redis } from '../../base/redis/connection.js';
import type { Keys, LaneId } from '../../base/redis/keys.js';
import { mustHaveRoom } from '../../base/redis/memory.js';
import { InputError, InputErrors, inputErrorOf, NotFoundError } from '../../campaign/errors/errors.js';
import type { CampaignFields, WithTemplate } from '../../campaign/fields/campaign-fields.js';
import { fieldsOf, problemsOf } from '../../campaign/fields/field-sets.js';
import { FIELDS } from '../../campaign/fields/fields.js';
import { limitsFor, refusedSender } from '../../campaign/limits/check-limits.js';
import type { Operator } from '../../campaign/states/audit.js';
import type { PUT_OUTCOMES } from '../../campaign/views/measures.js';
import type { LaneFinder } from '../../engine/lane/lane-finder.js';

/*
 * Texts that are saved under a name on a lane, and copied into campaigns and schedules that name them. All of a lane are one small hash, so
 * they are read and checked together.
 */

const MAX_TEMPLATES = 1_000;
/** Of all names and texts of a lane. */
const MAX_BYTES = 1_000_000;

/** A text to be saved. */
export interface TemplateInput extends Pick<CampaignFields, 'message' | 'sender' | 'lane'> {
  /** 1 to 64 letters, digits, `-` and `_`, unique on its lane. */
  readonly name: string;
}

/** A text that is saved under a name. */
export interface Template {
  readonly name: string;
  readonly lane: string;
  readonly message: string;
  /** Null: that of the campaign, or the default. */
  readonly sender: string | null;
  /** The columns that the text uses, in its order. */
  readonly columns: readonly string[];
}

/** See {@link Template}. */
export const template = z
  .object({
    name: z.string(),
    lane: z.string(),
    message: z.string(),
    sender: z.string().nullable().describe('Null: that of the campaign, or the default'),
    columns: z.array(z.string()).readonly().describe('The columns that the text uses, in its order'),
  })
  .meta({ id: 'Template' });

/** What {@link Templates.put} has done. */
export interface PutTemplate extends Template {
  readonly outcome: (typeof PUT_OUTCOMES)[number];
}

/** On which lane a template is; default: the first configured one. */
export interface TemplateChoice {
  readonly lane?: string | undefined;
}

/** Texts that are saved under names. */
export interface Templates {
  /**
   * Saves a text, or replaces the one of this name. What was created with it keeps its text. Rejects with an InputError if the text or the sender
   * is invalid, or the lane has as many templates as it may.
   */
  put(input: TemplateInput): Promise<PutTemplate>;
  /** The templates of a lane, by name. */
  list(choice?: TemplateChoice): Promise<Template[]>;
  /** Deletes a template. Rejects with a NotFoundError if there is none; so does {@link Templates.get}. */
  delete(name: string, choice?: TemplateChoice): Promise<void>;
  get(name: string, choice?: TemplateChoice): Promise<Template>;
}

/** What {@link openTemplates} needs. */
interface TemplatesDeps {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly config: LocalConfig;
  readonly finder: Pick<LaneFinder, 'idOf'>;
  readonly by: Operator;
  /** Opens a configured lane, which is registered for it. */
  laneNamed(name: string): Promise<{ readonly id: LaneId }>;
}

/** What may name a template. */
type Texted = Pick<WithTemplate<CampaignFields>, 'message' | 'template' | 'sender' | 'lane'>;

const stored = z.object({ message: z.string(), sender: z.string().optional() });

/** Mustache is loaded with the first text. */
const textModule = () => import('../../campaign/text/template.js');

/** Opens the templates for an operator, whose changes are recorded in the audit trail. */
export function openTemplates({ redis, keys, config, finder, by, laneNamed }: TemplatesDeps) {
  const hashOf = (lane: LaneId): string => keys.lane(lane, 'templates');
  const placeOf = async ({ lane = requestedLane(config, undefined).name }: TemplateChoice) => ({
    lane,
    id: await finder.idOf(lane),
  });
  /** A stored template; undefined if there is none that can be read: the next one of this name replaces it. */
  const viewOf = async (lane: string, name: string, json: string | null): Promise<Template | undefined> => {
    const { data } = stored.safeParse(jsonOrUndefined(json ?? ''));
    if (data === undefined) return undefined;
    const used = (await textModule()).placeholdersOf(data.message);
    const { message, sender = null } = data;
    return { name, lane, message, sender, columns: used.ok ? used.names : [] };
  };
  const missing = (name: string, lane: string): string =>
    `lane ${lane} has no template ${name}; \`volley template list\` shows all`;

  const templates: Templates = {
    async put({ name, ...input }) {
      const rules = requestedLane(config, input.lane);
      await check(name, input);
      const limits = limitsFor(rules, by, config.prices?.currency);
      const refused = input.sender === undefined ? null : refusedSender(limits, input.sender);
      if (refused !== null) throw refused;
      const { id } = await laneNamed(rules.name);
      const texts = new Map(Object.entries(await redis.hgetall(hashOf(id))));
      const before = texts.get(name);
      const json = JSON.stringify(stored.parse(input));
      const saved = await viewOf(rules.name, name, json);
      if (saved === undefined) throw new Error(`template ${name} was not stored`);
      if (before === json) return { ...saved, outcome: 'unchanged' };
      const bytes = Buffer.byteLength(JSON.stringify([...texts.set(name, json)]));
      if (texts.size > MAX_TEMPLATES || bytes > MAX_BYTES)
        throw new InputError(
          `lane ${rules.name} would have more than ${MAX_TEMPLATES.toLocaleString('en')} templates, or more than ${MAX_BYTES / 1_000_000} MB of them: delete some`,
          { field: 'name' },
        );
      await mustHaveRoom(redis);
      await by.audited({ action: 'template.set', lane: id, details: { template: name } }, () =>
        redis.hset(hashOf(id), name, json),
      );
      return { ...saved, outcome: before === undefined ? 'created' : 'updated' };
    },
    async list(choice = {}) {
      const { lane, id } = await placeOf(choice);
      const all = Object.entries(await redis.hgetall(hashOf(id)));
      const views = await Promise.all(all.map(([name, json]) => viewOf(lane, name, json)));
      return views.flatMap((view) => view ?? []).sort((one, other) => (one.name < other.name ? -1 : 1));
    },
    async delete(name, choice = {}) {
      const { lane, id } = await placeOf(choice);
      const remove = () => redis.hdel(hashOf(id), name);
      const isThere = (await redis.hexists(hashOf(id), name)) === 1;
      if (!isThere) throw new NotFoundError(missing(name, lane));
      await by.audited({ action: 'template.delete', lane: id, details: { template: name } }, remove);
    },
    async get(name, choice = {}) {
      const { lane, id } = await placeOf(choice);
      const found = await viewOf(lane, name, await redis.hget(hashOf(id), name));
      if (found === undefined) throw new NotFoundError(missing(name, lane));
      return found;
    },
  };

  return {
    ...templates,
    /**
     * Runs something with a text: that of the template, if the input names one. What is wrong with that text for the columns of a list is then
     * an error about the template.
     */
    async withText<Input extends Texted, Result>(
      input: Input,
      run: (input: Input) => Promise<Result>,
    ): Promise<Result> {
      const { template: name, lane } = input;
      if (name === undefined) return run(input);
      const refuse = (reason: string): never => {
        throw new InputError(reason, { field: 'template' });
      };
      if (input.message !== undefined) refuse('a campaign has one text: give either a message or a template');
      const { message, sender } = await templates.get(name, { lane }).catch((error: unknown) => {
        // Also for a lane that is not there: the checks of the input say so.
        return error instanceof NotFoundError && error.name === 'NotFoundError'
          ? refuse(error.message)
          : Promise.reject(error);
      });
      try {
        return await run({
          ...input,
          template: undefined,
          message,
          sender: input.sender ?? sender ?? undefined,
        });
      } catch (error) {
        throw aboutTemplate(name, error);
      }
    },
  };
}

/** Throws for what is wrong with a template, as with the text of a campaign whose list is not known yet. */
async function check(name: string, fields: Omit<TemplateInput, 'name'>): Promise<void> {
  const problem = FIELDS.template.problem(name);
  if (problem !== null) throw new InputError(problem, { field: 'name' });
  const given = fieldsOf('template').filter((field) => field === 'message' || fields[field] !== undefined);
  const problems = problemsOf(given, fields);
  const used = problems.length > 0 ? null : (await textModule()).placeholdersOf(fields.message);
  if (used?.ok === false) problems.push(new InputError(used.reason, { field: 'message' }));
  if (problems.length > 0) throw inputErrorOf(problems);
}

/** An error about the text of a campaign, as one about the template that has it. */
function aboutTemplate(name: string, error: unknown): unknown {
  if (error instanceof InputErrors)
    return inputErrorOf(error.all.map((each) => aboutTemplate(name, each) as InputError));
  if (!(error instanceof InputError) || error.code !== 'badInput' || error.field !== 'message') return error;
  const reason = error.message.charAt(0).toLowerCase() + error.message.slice(1);
  return new InputError(`template ${name} cannot be used: ${reason}`, { field: 'template', cause: error });
}
