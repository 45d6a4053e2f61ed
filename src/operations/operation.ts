import type { z } from 'zod';
import type { PositionKind, Volley } from '../app/volley.js';
import type { ProblemCode } from '../campaign/errors/error-codes.js';
import type { ApiKey, RequiredScope } from '../campaign/states/api-key.js';
import type { AuditAction } from '../campaign/states/audit.js';
import type { CampaignInput } from '../intake/import/campaign-input.js';
import type { BroadcastEvent } from '../reporting/event-feed.js';
import type { LiveWanted } from '../reporting/live/item.js';
import type { Access, Located } from './access.js';
import type { Refused } from './outcomes.js';

/*
 * An operation is defined once, as a row. The rows make the routes of the HTTP API, with their checks and their part of the OpenAPI document,
 * and the commands of the command line with their help. Each row has a kind, which says what its `run` returns:
 *
 *   call     one object
 *   page     a part of a list, and where the next part begins
 *   rows     a list of any length, as a text that is written while it is read; what it returns for a list, if its body is one
 *   upload   one object, for a campaign whose list of recipients may be of any length
 *   file     a file of the service, unchanged
 *   feed     which events a stream without an end has; the surface sends them
 *
 * What people read on the command line besides help is in surfaces/cli/answers, by the names of the operations.
 */

/** Why an operation is not on a surface. */
export interface Missing {
  readonly because: string;
}

/** The groups of operations on the command line and in the documentation of the HTTP API, which lacks some. */
export type Tag =
  | 'Campaigns'
  | 'Templates'
  | 'Schedules'
  | 'Outboxes'
  | 'Events'
  | 'Webhooks'
  | 'Lanes'
  | 'Numbers'
  | 'Replies'
  | 'Call records'
  | 'Operation'
  | 'API keys'
  | 'Tokens'
  | 'Subscriptions';

/** What a request costs of the rate limit: tokens, or a token for so many items of a page. */
export type Cost = { readonly tokens: number } | { readonly itemsPerToken: number };

/** A flag of a command: the value of a member of the input. Its type comes from the schema of the member. */
export interface Flag {
  /** `-l`. */
  readonly short?: string;
  /** What stands for the value in help; default: the name of the member, or the names it may have. */
  readonly value?: string;
  /** What help says about it; default: what the documentation of the HTTP API says about the member. */
  readonly about?: string;
  /** How people write the value, if the schema does not say. */
  readonly as?:
    | 'reportedStatuses'
    | 'country'
    | 'dayOrMoment'
    | 'duration'
    | 'durationOrZero'
    | 'durationOrNever';
  /** Whether the command needs it, and refuses to run without it. */
  readonly isRequired?: true;
}

/** The flag of a member, as people type it. */
export const flagName = (member: string): string =>
  `--${member.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

/** The command of an operation. */
export interface Command<Input = unknown> {
  /** Its words and arguments, such as `lane rename <name> <newName>`. */
  readonly usage: string;
  /** What help says about each argument, by its name. */
  readonly arguments?: Readonly<Record<string, string>>;
  /** What help says instead of the summary and the description, where people use other words than programs. */
  readonly summary?: string;
  readonly description?: string;
  /** What help says after the description. */
  readonly note?: string;
  readonly flags?: { readonly [Member in keyof Input]?: Flag };
  /** Which lane it means without `--lane`: the only one, or the only one with an account. */
  readonly lane?: 'only' | 'onlyWithAccount';
  /** Whether it asks on a terminal, unless `--yes` is given. */
  readonly asks?: true;
  /** What help says about `--json`, if it prints more than one object. */
  readonly json?: string;
  /** `{tomorrow}` and `{today}` become times. */
  readonly examples: readonly string[];
  /** Why its action is written by hand. */
  readonly byHand?: string | undefined;
}

/**
 * What a helper below learns from a row as it is written: its name, its group, and why `surfaces/cli/answers` has no answer for it, or
 * undefined. So an answer that is missing does not compile.
 */
interface Literal<Input, Name, Group, Why> {
  readonly name: Name;
  readonly tag: Group;
  readonly cli: (Command<Input> & { readonly byHand?: Why }) | (Missing & { readonly because: Why });
}

/** What a surface gives an operation that runs. */
export interface Hooks<Found = Located | undefined> {
  /** The API key of the caller; undefined on the command line. */
  readonly key?: ApiKey | undefined;
  /** The lanes on which it may run, by its rule of access; undefined: all. */
  readonly lanes: readonly string[] | undefined;
  /** What its rule of access has read of the object that the input names; undefined if it names none. */
  readonly found: Found;
  /** Called with the memory that reading a list takes, in bytes, before it takes more. The list is read on when the promise is resolved. */
  readonly onMemory?: ((bytes: number) => Promise<void>) | undefined;
  /** Aborted when the caller is gone. */
  readonly signal?: AbortSignal | undefined;
  /** How long it may wait until others let it begin, such as `20s`; undefined: without a limit. */
  readonly wait?: string | undefined;
}

/** The button of an operation in the console. */
export interface Button {
  /** Default: the first word of the summary. */
  readonly label?: string;
  readonly tone?: 'primary' | 'danger';
  /** Whether a dialog shows the description, and asks. */
  readonly asks?: true;
}

/** What every row has. */
interface Row<
  Input extends z.ZodObject,
  Given = z.output<Input>,
  Found extends Located | undefined = Located | undefined,
> {
  /** Unique; the `operationId` of the HTTP API. */
  readonly name: string;
  /** In the imperative, as a title. */
  readonly summary: string;
  /** What it does, in sentences that are true for every caller. */
  readonly description?: string;
  readonly tag: Tag;
  /** What an API key must be allowed to do; undefined if HTTP lacks the operation. The server refuses to start with a route without one. */
  readonly scope?: RequiredScope;
  /** The bucket of the rate limit; default: `requests`. Floods of other requests never block `control`. */
  readonly bucket?: 'control';
  readonly cost?: Cost;
  readonly access: Access<Given, Found>;
  /** What the audit trail records; undefined if it records nothing. */
  readonly audit?: AuditAction;
  /** `GET /campaigns/{id}`, below `/v1`. */
  readonly http: `${'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'} /${string}` | Missing;
  readonly cli: Command<z.output<Input>> | Missing;
  readonly button?: Button;
  /** What help and the documentation of the HTTP API say in addition about HTTP. */
  readonly httpNote?: string;
  readonly input: Input;
  /** The member of the input that is the body of the request, as a whole. The others are in its address. */
  readonly body?: keyof z.output<Input> & string;
  /** The member of the input that is a list, for which JSON may have 1 MB. */
  readonly list?: keyof z.output<Input> & string;
  /** Outcomes that not every operation has. */
  readonly outcomes?: readonly ProblemCode[];
}

/**
 * What an operation creates: the status is 201, or 200 if the output has an `outcome` other than `created`. The response names its address.
 */
export interface Creates<Output> {
  /** Below `/v1`. */
  at(output: Output): string;
  /** What the output is with another `outcome`, for the documentation; undefined if it has none. */
  readonly existing?: string;
}

/** An operation that returns one object. */
export interface Call<
  Input extends z.ZodObject = z.ZodObject,
  Output extends z.ZodType = z.ZodType,
  Found extends Located | undefined = Located | undefined,
> extends Row<Input, z.output<Input>, Found> {
  readonly kind: 'call';
  readonly output: Output;
  /** What the output is, for the documentation. */
  readonly returns: string;
  readonly creates?: Creates<z.output<Output>>;
  /** Whether the output may be long, so that it counts for the bytes that a key may transfer. */
  readonly isLong?: true;
  /** What `cursor` of the input and `nextCursor` of the output are positions of. Clients of the HTTP API see tokens instead. */
  readonly position?: PositionKind;
  /** Whether it is done after the response, whose status is 202. */
  readonly isLater?: true;
  /** The version of the output, for clients that have it already. */
  version?(output: z.output<Output>): string;
  run(volley: Volley, input: z.output<Input>, hooks: Hooks<Found>): Promise<z.input<Output> | Refused>;
}

/** An operation that returns a part of a list. Its input also has `limit` and a cursor. */
export interface Page<Input extends z.ZodObject = z.ZodObject, Item extends z.ZodType = z.ZodType>
  extends Row<Input> {
  readonly kind: 'page';
  /** The member of the output with the items. */
  readonly member: string;
  readonly item: Item;
  readonly returns: string;
  /** What a position in the list is a position of. */
  readonly position: PositionKind;
  /** The greatest page, and the usual one. */
  readonly limit: { readonly max: number; readonly usual: number };
  /** The most that the command line shows, which reads several pages, and how many it usually shows; by default, it shows all. */
  readonly shown?: { readonly max: number; readonly usual: number };
  run(
    volley: Volley,
    input: z.output<Input> & { readonly limit: number; readonly cursor: string | undefined },
    hooks: Hooks,
  ): Promise<{ readonly items: readonly z.input<Item>[]; readonly nextCursor: string | null }>;
}

/** An operation that returns a list of any length. */
export interface Rows<Input extends z.ZodObject = z.ZodObject, Item extends z.ZodType = z.ZodType>
  extends Row<Input> {
  readonly kind: 'rows';
  readonly item: Item;
  readonly returns: string;
  /** The content types of its formats. */
  readonly formats: { readonly [Format in 'csv' | 'ndjson' | 'excel']?: string };
  /** The member with the rows, if over HTTP the list is one JSON object. */
  readonly member?: string;
  run(volley: Volley, input: z.output<Input>, hooks: Hooks): AsyncIterable<z.input<Item>>;
  /** The rows as a text in the format that the input names; by default, a line of JSON for each. */
  text(rows: AsyncIterable<z.input<Item>>, input: z.output<Input>, volley: Volley): AsyncIterable<string>;
  /** The version of the list, for clients that have it already. */
  version?(volley: Volley, input: z.output<Input>): Promise<unknown>;
  /** The name of a file with it, in which other people may have written anything. */
  file?(volley: Volley, input: z.output<Input>): Promise<string>;
}

/** An operation on a campaign with its list. Each surface reads the campaign in its own way, and `input` is what else it takes. */
export interface Upload<Output extends z.ZodType = z.ZodType> extends Row<z.ZodObject, CampaignInput> {
  readonly kind: 'upload';
  /** Whether the documentation of the HTTP API shows the form for it, instead of JSON. Both are accepted. */
  readonly isForm?: true;
  readonly output: Output;
  readonly returns: string;
  readonly creates?: Creates<z.output<Output>>;
  run(volley: Volley, input: CampaignInput, hooks: Hooks): Promise<z.input<Output> | Refused>;
}

/** A file that is being read. */
export interface OpenFile {
  readonly name: string;
  readonly contentType: string;
  /** In bytes; null if it is not known. */
  readonly length: number | null;
  /** The bytes. It throws if the file does not arrive complete. */
  readonly body: AsyncIterable<Uint8Array>;
  /** What a response says about it in headers of its own. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** An operation that returns a file. One that refuses says what it knows as members of the problem. */
export interface File<Input extends z.ZodObject = z.ZodObject> extends Row<Input> {
  readonly kind: 'file';
  readonly returns: string;
  run(volley: Volley, input: z.output<Input>, hooks: Hooks): Promise<OpenFile | Refused<object>>;
}

/** What a feed has. */
export interface Followed {
  /** Whether it has this event. */
  includes(event: BroadcastEvent): boolean;
  /** The campaign whose status it has as well. */
  readonly statusOf?: string | undefined;
  /** What is shown of what happens between the events. */
  readonly live?: LiveWanted | undefined;
}

/** An operation that follows events as they happen. Its response has no end, and begins where a header of the request says. */
export interface Feed<Input extends z.ZodObject = z.ZodObject> extends Row<Input> {
  readonly kind: 'feed';
  /** The schema of each item. */
  readonly item: z.ZodType;
  run(volley: Volley, input: z.output<Input>, hooks: Hooks): Followed;
}

export type Operation = Call | Page | Rows | Upload | File | Feed;

type Written<Kind extends Operation> = Omit<Kind, 'kind' | 'name' | 'tag' | 'cli'>;

/** Defines an operation that returns one object. */
export const call = <
  const Name extends string,
  const Group extends Tag,
  Input extends z.ZodObject,
  Output extends z.ZodType,
  Found extends Located | undefined,
  const Why extends string | undefined = undefined,
>(
  row: Written<Call<Input, Output, Found>> & Literal<z.output<Input>, Name, Group, Why>,
) => ({ ...row, kind: 'call' as const });

/** Defines an operation that returns a part of a list. */
export const page = <
  const Name extends string,
  const Group extends Tag,
  Input extends z.ZodObject,
  Item extends z.ZodType,
  const Member extends string,
  const Why extends string | undefined = undefined,
>(
  row: Written<Page<Input, Item>> & Literal<z.output<Input>, Name, Group, Why> & { readonly member: Member },
) => ({ ...row, kind: 'page' as const });

/** Defines an operation that returns a list of any length. */
export const rows = <
  const Name extends string,
  const Group extends Tag,
  Input extends z.ZodObject,
  Item extends z.ZodType,
  const Why extends string | undefined = undefined,
>(
  row: Omit<Written<Rows<Input, Item>>, 'text'> &
    Partial<Pick<Rows<Input, Item>, 'text'>> &
    Literal<z.output<Input>, Name, Group, Why>,
) => ({ text: jsonLines, ...row, kind: 'rows' as const });

async function* jsonLines(rows: AsyncIterable<unknown>): AsyncGenerator<string> {
  for await (const row of rows) yield `${JSON.stringify(row)}\n`;
}

/** One JSON object with these rows as its first member, written as they are read, and the members that `rest` returns then. */
export async function* oneObject(
  member: string,
  rows: AsyncIterable<unknown>,
  json: (value: unknown) => string = JSON.stringify,
  rest: () => Promise<object> = async () => ({}),
): AsyncGenerator<string> {
  let separator = `{${json(member)}:[`;
  for await (const row of rows) {
    yield `${separator}${json(row)}`;
    separator = ',';
  }
  const others = json(await rest()).slice(1);
  yield `${separator === ',' ? '' : separator}]${others === '}' ? '' : ','}${others}`;
}

/** Defines an operation on a campaign with its list. */
export const upload = <const Name extends string, Output extends z.ZodType>(
  row: Omit<Upload<Output>, 'kind'> & { readonly name: Name },
) => ({ ...row, kind: 'upload' as const });

/** Defines an operation that returns a file. */
export const file = <const Name extends string, Input extends z.ZodObject>(
  row: Omit<File<Input>, 'kind'> & { readonly name: Name },
) => ({ ...row, kind: 'file' as const });

/** Defines an operation that follows events. */
export const feed = <const Name extends string, Input extends z.ZodObject>(
  row: Omit<Feed<Input>, 'kind'> & { readonly name: Name },
) => ({ ...row, kind: 'feed' as const });

/** Whether an operation is on a surface. */
export function isThere<Place extends string | Command>(place: Place | Missing): place is Place {
  return typeof place === 'string' || !Object.hasOwn(place as object, 'because');
}
