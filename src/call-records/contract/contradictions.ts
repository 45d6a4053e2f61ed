import { ARTICLE, type Contract, MEANINGS, PARTS, type Part, parameterValue } from './contract.js';
import { placeholdersIn, textsIn } from './template.js';

/** Values that every contract has. The parameters of a contract are further ones. */
const DATES = ['from', 'from.year', 'from.month', 'from.day', 'to', 'to.year', 'to.month', 'to.day'];
const CREDENTIALS = ['apiKey', 'accessToken'];
const RESERVED = [...DATES, ...CREDENTIALS, 'id'];

/** A text with placeholders, and where in the contract it is. */
interface Template {
  readonly at: readonly PropertyKey[];
  readonly place: 'path' | 'query' | 'header' | 'body';
  readonly names: readonly string[];
}

/** The texts of a part that have placeholders. */
export function templatesOf(contract: Contract, part: Part): Template[] {
  const { path: whole, headers: own, body: sent } = contract[part];
  const [before = '', query = ''] = (whole ?? '').split(/\?(.*)/s);
  const all: [at: PropertyKey[], place: Template['place'], text: string][] = [
    [['path'], 'path', before],
    [['path'], 'query', query],
    ...Object.entries(own).map(([name, value]): (typeof all)[number] => [['headers', name], 'header', value]),
    ...textsIn(sent).map(({ at, text: value }): (typeof all)[number] => [['body', ...at], 'body', value]),
  ];
  return all.map(([at, place, value]) => ({ at: [part, ...at], place, names: placeholdersIn(value) }));
}

/** The members that contradict others, and why. */
export function* contradictions(contract: Contract): Generator<readonly [readonly PropertyKey[], string]> {
  const { status, download, parameters, globalMobile } = contract;
  for (const [name, { type, values }] of Object.entries(parameters)) {
    if (RESERVED.includes(name)) yield [['parameters', name], 'is a placeholder that every contract has'];
    for (const [at, value] of (values ?? []).entries()) {
      if (parameterValue(value, type) === undefined)
        yield [['parameters', name, 'values', at], `must be ${ARTICLE[type]}`];
    }
  }
  for (const part of PARTS) {
    if (contract[part].method === 'GET' && contract[part].body !== null)
      yield [[part, 'body'], 'must be null: a GET has no body'];
    for (const template of templatesOf(contract, part)) yield* wrongPlaceholders(template, part, parameters);
  }
  const used = (part: Part) => templatesOf(contract, part).flatMap(({ names }) => names);
  if (contract.client && !PARTS.flatMap(used).includes('accessToken'))
    yield [['client'], 'is never used: no header contains {accessToken}; add it, or remove the client'];
  if (!used('status').includes('id'))
    yield [['status', 'path'], 'must contain {id}, or the service cannot know which request is meant'];
  if ((download.path === null) === (download.address === null))
    yield [['download'], 'must have either a path or an address; set the other one to null'];
  if (download.address !== null && (download.method !== 'GET' || download.body !== null))
    yield [['download', 'method'], 'must be "GET" without a body: the download has an address of its own'];
  const seen = new Map<string, string>();
  for (const meaning of MEANINGS) {
    for (const [at, word] of status[meaning].entries()) {
      const other = seen.get(word);
      if (other !== undefined)
        yield [['status', meaning, at], `is also in status.${other}; each word means one thing`];
      seen.set(word, meaning);
    }
  }
  if (status.ready.length === 0) yield [['status', 'ready'], 'must have at least one word'];
  if (globalMobile !== null && parameters[globalMobile.parameter] === undefined) {
    const names = Object.keys(parameters).join(', ');
    yield [['globalMobile', 'parameter'], `must be one of the parameters: ${names}`];
  }
}

function* wrongPlaceholders(
  { at, place, names }: Template,
  part: Part,
  parameters: Contract['parameters'],
): Generator<readonly [readonly PropertyKey[], string]> {
  const valid = [
    ...DATES,
    ...Object.keys(parameters),
    ...(part === 'request' ? [] : ['id']),
    ...(place === 'header' ? CREDENTIALS : []),
  ];
  for (const name of names) {
    if (!valid.includes(name)) {
      yield [
        at,
        CREDENTIALS.includes(name)
          ? `must not contain {${name}}: credentials belong into headers`
          : `contains {${name}}, which is not a placeholder here; use ${valid.map((each) => `{${each}}`).join(', ')}`,
      ];
    } else if ((place === 'path' || place === 'header') && parameters[name]?.required === false) {
      yield [
        at,
        `contains {${name}}, which is optional: only a member of the body or of the query can be left out`,
      ];
    }
  }
}
