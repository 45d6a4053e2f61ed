import { z } from 'zod';
import { type Command, type Flag, flagName, isThere, type Operation } from './operation.js';

/*
 * What the command line needs to know about operations before it loads them: the names, flags, and help of their commands.
 */

/** How the value of a flag is read, and its value if the flag is not given. Several texts or names are separated by commas. */
interface Reads {
  readonly as: 'text' | 'texts' | 'name' | 'names' | 'number' | NonNullable<Flag['as']>;
  readonly names?: readonly string[];
  readonly from?: number;
  readonly to?: number;
  readonly usual?: number;
  readonly isRequired?: true;
  /** Whether the flag may be given several times: then its value is a list. */
  readonly isRepeatable?: true;
}

/** The command of an operation. */
export interface OperationCommand {
  readonly name: string;
  readonly tag: string;
  readonly usage: string;
  readonly summary: string;
  readonly description: string;
  /** The arguments as commander writes them, and what help says about each. */
  readonly arguments: Readonly<Record<string, string>>;
  readonly flags: readonly { readonly flags: string; readonly about: string; readonly reads?: Reads }[];
  readonly json: string;
  readonly examples: readonly string[];
  readonly byHand: boolean;
}

/** The commands of the operations that have one. */
export function commandTable(operations: readonly Operation[]): OperationCommand[] {
  return operations.flatMap((operation) => {
    const { name, tag, cli } = operation;
    if (!isThere(cli)) return [];
    const { summary = operation.summary, description = operation.description } = cli;
    const sentences = [`${summary}.`, description, cli.note, cli.asks && 'On a terminal it asks first.'];
    return [
      {
        name,
        tag,
        usage: cli.usage,
        summary: inFlow(summary),
        description: sentences.filter((each) => each !== undefined).join(' '),
        arguments: argumentsOf(cli),
        flags: [...flagsOf(operation, cli), ...flagsOfKind(operation, cli)],
        json: cli.json ?? (cli.byHand === undefined ? JSON_ABOUT[operation.kind] : JSON_ABOUT.call),
        examples: cli.examples,
        byHand: cli.byHand !== undefined,
      },
    ];
  });
}

const JSON_ABOUT: Readonly<Record<Operation['kind'], string>> = {
  call: 'print one JSON object',
  page: 'print one JSON object',
  rows: 'print one JSON object: the rows, or with --out what was written',
  upload: 'print one JSON object',
  file: 'print one JSON object',
  feed: 'print one JSON object for each event',
};

/** Arguments without a text are added by hand. */
function argumentsOf({ usage, arguments: texts = {} }: Command): Record<string, string> {
  const all = [...usage.matchAll(/[<[]([\w-]+)(?:\.{3})?[>\]]/g)].map(([written, name = '']) => [
    written,
    texts[name],
  ]);
  return Object.fromEntries(all.filter(([, about]) => about !== undefined));
}

function flagsOf({ name: operation, input }: Operation, { flags = {} }: Command): OperationCommand['flags'] {
  return Object.entries<Flag>(flags).map(([member, { short, value, as, isRequired, ...flag }]) => {
    const schema = input.shape[member];
    const about = flag.about ?? inFlow(descriptionOf(schema));
    if (about === '') throw new TypeError(`The flag ${member} of ${operation} has no text.`);
    const spelled = [short, flagName(member)].filter((each) => each !== undefined).join(', ');
    if (isSwitch(schema)) return { flags: spelled, about };
    const reads: Reads = {
      ...(as === undefined ? readsOf(schema) : { as }),
      ...(isRequired && { isRequired }),
    };
    return { flags: `${spelled} <${value ?? reads.names?.join('|') ?? member}>`, about, reads };
  });
}

/** What the documentation of the HTTP API says about a member; '' if it says nothing. */
const descriptionOf = (schema: unknown): string =>
  schema instanceof z.ZodType ? (schema.description ?? '') : '';

/** A text as it follows the name of a flag. */
const inFlow = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1);

/** The flags that every operation of a kind has. */
function flagsOfKind(operation: Operation, { asks, byHand }: Command): OperationCommand['flags'] {
  const yes = asks ? [{ flags: '-y, --yes', about: 'do not ask' }] : [];
  switch (operation.kind) {
    case 'call':
    case 'upload':
    case 'file':
      return yes;
    case 'page': {
      if (operation.shown === undefined) return [];
      const { max: to, usual } = operation.shown;
      const reads = { as: 'number', from: 1, to, usual } as const;
      return [
        { flags: '--limit <count>', about: 'the most to show', reads },
        {
          flags: '--cursor <cursor>',
          about: 'continue there: the `nextCursor` that --json printed',
          reads: { as: 'text' },
        },
      ];
    }
    case 'rows':
      if (byHand !== undefined) return [];
      return [
        {
          flags: '--out <file>',
          about: 'write to this new file, all or nothing; - is standard output, the default',
          reads: { as: 'text' },
        },
        { flags: '--force', about: 'overwrite the file' },
      ];
    case 'feed':
      return [];
    default:
      return operation satisfies never;
  }
}

/** Whether a flag has no value: to give it is to set it. */
function isSwitch(schema: unknown): boolean {
  const isWrapped = schema instanceof z.ZodOptional || schema instanceof z.ZodDefault;
  return isWrapped ? isSwitch(schema.def.innerType) : schema instanceof z.ZodBoolean;
}

/** How people write a value with this schema. */
function readsOf(schema: unknown): Reads {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodReadonly)
    return readsOf(schema.def.innerType);
  if (schema instanceof z.ZodDefault) {
    const usual = schema.def.defaultValue;
    return { ...readsOf(schema.def.innerType), ...(typeof usual === 'number' && { usual }) };
  }
  // It is `several` of schemas.ts: the flag is repeated, as the parameter of the query is.
  if (schema instanceof z.ZodPipe && schema.def.out instanceof z.ZodArray)
    return { ...readsOf(schema.def.out.element), isRepeatable: true };
  if (schema instanceof z.ZodEnum) return { as: 'name', names: schema.options.map(String) };
  if (schema instanceof z.ZodArray) {
    const { names } = readsOf(schema.element);
    return names === undefined ? { as: 'texts' } : { as: 'names', names };
  }
  if (schema instanceof z.ZodNumber) {
    return { as: 'number', from: schema.minValue ?? 0, to: schema.maxValue ?? Number.MAX_SAFE_INTEGER };
  }
  return { as: 'text' };
}
