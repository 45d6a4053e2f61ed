import type { ErrorItem } from 'built/campaign/errors/error-codes.js';
import type { OperationRow } from 'built/operations/index.js';
import type { Button, Page, Upload } from 'built/operations/operation.js';
import type { campaignRequest } from 'built/surfaces/http/bodies/campaign-request.js';
import createClient from 'openapi-fetch';
import type { z } from 'zod';
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
  readonly button?: Button;
  /** What the dialog asks before it runs. Without a question and without fields, it runs at once. */
  readonly question?: string;
  readonly allLanes?: true;
  readonly fields: Readonly<Record<string, Field>>;
}

/** The operations, by their names. */
type Rows = { readonly [Row in OperationRow as Row['name']]: Row };
export type Name = keyof Rows & keyof typeof commands;

/** What a page of a list is asked for besides its filters. */
interface PageInput {
  readonly limit?: number | string;
  readonly cursor?: string;
}

/** A campaign with its recipients, as a client describes it. */
type CampaignInput = z.input<typeof campaignRequest> & { readonly 'Idempotency-Key'?: string };

/** The members of the path, the query, and the body of an operation, side by side. */
export type Input<Op extends Name> = Rows[Op] extends Upload
  ? CampaignInput
  : Rows[Op] extends Page
    ? z.input<Rows[Op]['input']> & PageInput
    : z.input<Rows[Op]['input']>;

/** What an operation returns. */
export type Output<Op extends Name> = Rows[Op] extends {
  readonly member: infer Member;
  readonly item: infer Item;
}
  ? { readonly [M in Member & string]: readonly z.output<Item>[] } & { readonly nextCursor?: string | null }
  : Rows[Op] extends { readonly output: infer Value }
    ? z.output<Value>
    : undefined;

/** Why a request was not answered as asked: a problem of the API, or that the server cannot be reached (`offline`). */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly code: string;
  readonly status: number;
  readonly errors: readonly ErrorItem[];
  /** The whole problem document, with members of its own. */
  readonly detail: Readonly<Record<string, unknown>>;

  constructor(status: number, problem: Readonly<Record<string, unknown>>) {
    super(String(problem['detail'] ?? problem['title'] ?? `The server responded with ${status}.`));
    this.status = status;
    this.code = String(problem['code'] ?? 'failed');
    this.errors = (problem['errors'] as readonly ErrorItem[] | undefined) ?? [];
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

/** The path below which an app serves the API and this page, such as `/sms`; usually empty. A file of the page is at `/sms/console/assets/…`. */
export const ROOT = new URL(import.meta.url).pathname.replace(/\/console\/[^/]+\/[^/]+$/, '');
/** Where the page is; the addresses of its screens begin with it. */
export const HOME = `${ROOT}/console`;

const baseUrl = `${globalThis.location?.origin ?? ''}${ROOT}`;
const client = createClient({ baseUrl, credentials: 'same-origin' });

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
