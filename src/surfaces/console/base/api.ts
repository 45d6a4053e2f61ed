import createClient from 'openapi-fetch';
import type { components, operations, paths } from '../generated/api.js';
import commands from '../generated/commands.json' with { type: 'json' };
import { texts } from './texts.js';

/** A field of an operation, as the table of commands describes it. */
export interface Field {
  readonly in: 'path' | 'query' | 'header' | 'body';
  readonly type: string;
  readonly required?: true;
  readonly names?: readonly string[];
  /** The most characters. */
  readonly length?: number;
  readonly usual?: unknown;
  readonly about?: string;
}

/** What the console knows about an operation before it runs. */
export interface Command {
  readonly title: string;
  readonly method: string;
  readonly path: string;
  readonly scope: string;
  readonly allLanes?: true;
  readonly fields: Readonly<Record<string, Field>>;
}

export type Schemas = components['schemas'];
export type Name = keyof operations & keyof typeof commands;

type Parameters<Op> = Op extends { parameters: infer All } ? All : never;
type Present<Type> = Exclude<Type, undefined> extends never ? unknown : Exclude<Type, undefined>;
type Members<All, Place extends string> = All extends { [P in Place]?: infer Found }
  ? Present<Found>
  : unknown;
type Json<Content> = Content extends { content: { 'application/json': infer Found } } ? Found : undefined;
type Body<Op> = Op extends { requestBody?: infer Given } ? Present<Json<Exclude<Given, undefined>>> : unknown;

/** The members of the path, the query, and the body of an operation, side by side. */
export type Input<Op extends Name> = Members<Parameters<operations[Op]>, 'path'> &
  Members<Parameters<operations[Op]>, 'query'> &
  Partial<Members<Parameters<operations[Op]>, 'header'>> &
  Body<operations[Op]>;

/** What an operation returns. */
export type Output<Op extends Name> = Json<
  operations[Op]['responses'][keyof operations[Op]['responses'] & (200 | 201 | 202)]
>;

/** Why a request was not answered as asked: a problem of the API, or that the server cannot be reached (`offline`). */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly code: string;
  readonly status: number;
  readonly errors: readonly Schemas['ErrorItem'][];
  /** The whole problem document, with members of its own. */
  readonly detail: Readonly<Record<string, unknown>>;

  constructor(status: number, problem: Readonly<Record<string, unknown>>) {
    super(String(problem['detail'] ?? problem['title'] ?? `The server responded with ${status}.`));
    this.status = status;
    this.code = String(problem['code'] ?? 'failed');
    this.errors = (problem['errors'] as readonly Schemas['ErrorItem'][] | undefined) ?? [];
    this.detail = problem;
  }

  /** What is wrong with a field; undefined if nothing is. */
  of(field: string): string | undefined {
    return this.errors.find(({ pointer }) => fieldOf(pointer) === field)?.message;
  }
}

/** The field that a JSON pointer names: `/window/hours`, `query/limit` → `window`, `limit`. */
export function fieldOf(pointer: string | null): string | undefined {
  return pointer?.split('/')[1]?.replaceAll('~1', '/').replaceAll('~0', '~');
}

/** The error of a server that cannot be reached. */
export const offline = (): ApiError => new ApiError(0, { code: 'offline', detail: texts.offline });

/** Called when a response says that the session or its key has ended. */
let onSignedOut = (): void => {};
export function whenSignedOut(listener: () => void): void {
  onSignedOut = listener;
}

const baseUrl = globalThis.location?.origin ?? '';
const client = createClient<paths>({ baseUrl, credentials: 'same-origin' });

/** The error that a response says. */
export function refusal(status: number, problem: unknown): ApiError {
  if (status === 401) onSignedOut();
  return new ApiError(status, typeof problem === 'object' && problem !== null ? { ...problem } : {});
}

/** What the table of commands says about an operation. */
export const commandOf = (name: Name): Command => commands[name] as Command;

/** Runs an operation. Rejects with an {@link ApiError}. */
export async function call<Op extends Name>(
  name: Op,
  input: Input<Op>,
  { signal }: { readonly signal?: AbortSignal } = {},
): Promise<Output<Op>> {
  const { method, path, fields } = commandOf(name);
  const given = Object.entries(input as object).filter(([, value]) => value !== undefined);
  const placed = (place: Field['in']) =>
    Object.fromEntries(given.filter(([member]) => (fields[member]?.in ?? 'body') === place));
  const params = { path: placed('path'), query: placed('query'), header: placed('header') };
  const body = placed('body');
  const init = { params, signal, ...(Object.keys(body).length > 0 && { body }) };
  // The names and types of the table and of the client come from the same document.
  type Request = (method: string, path: string, init: object) => ReturnType<typeof client.GET>;
  const answer = (client.request as unknown as Request)(method.toLowerCase(), path, init);
  const { data, error, response } = await answer.catch((thrown: unknown) => {
    throw thrown instanceof DOMException && thrown.name === 'AbortError' ? thrown : offline();
  });
  if (response.ok) return data as Output<Op>;
  throw refusal(response.status, error);
}
