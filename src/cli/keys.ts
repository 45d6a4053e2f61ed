import { type Command, InvalidArgumentError } from 'commander';
import { API_SCOPES, type ApiKey, type ApiScope } from '../campaign/views.js';
import { action, examples } from './action.js';
import type { Answer, Context } from './context.js';
import { withLocalVolley } from './open.js';
import { filled, oneOf } from './parsed.js';
import { cut, moment, oneLine, table } from './text.js';

interface CreateOptions {
  name: string;
  scope: readonly ApiScope[];
  lane?: readonly string[];
}

/** Adds `volley keys`. */
export function addKeys(program: Command, context: Context): void {
  const keys = program
    .command('keys')
    .summary('make and revoke keys to the HTTP API')
    .description('Makes, lists and revokes keys to the HTTP API. Only a digest of each is kept.');
  keys
    .command('create')
    .description('Makes a key and prints it, this once.')
    .requiredOption('--name <name>', 'whose it is, for people', filled)
    .requiredOption(
      '--scope <scopes>',
      'what it may do, with commas between: read (see), send (make campaigns), operate (pause, cancel, resolve)',
      readScopes,
    )
    .option('--lane <lanes>', 'the only lanes it may see, with commas between (default: all)', readNames)
    .option('--json', 'print one JSON object')
    .addHelpText('after', examples('keys create --name shop --scope read,send --lane default'))
    .action(action(context, (options: CreateOptions) => create(context, options)));
  keys
    .command('list')
    .description('Lists the keys that there are.')
    .option('--json', 'print one JSON object')
    .addHelpText('after', examples('keys list'))
    .action(action(context, () => list(context)));
  keys
    .command('revoke')
    .description('Takes a key away: from then on it opens nothing.')
    .argument('<id>', 'as `keys list` shows it', filled)
    .option('--json', 'print one JSON object')
    .addHelpText('after', examples('keys revoke 0123456789ab'))
    .action(action(context, (id: string) => revoke(context, id)));
}

/** Scopes with commas between, each once. */
function readScopes(text: string): readonly ApiScope[] {
  return [...new Set(readNames(text).map(oneOf(API_SCOPES)))];
}

function readNames(text: string): readonly string[] {
  const names = text
    .split(',')
    .map((name) => name.trim())
    .filter(Boolean);
  if (names.length === 0) throw new InvalidArgumentError('It is empty.');
  return names;
}

function create(context: Context, { name, scope, lane }: CreateOptions): Promise<Answer> {
  return withLocalVolley(context, async (volley) => {
    const made = await volley.keys.create({ name, scopes: scope, lanes: lane });
    // The key alone on standard output, so that it can go into a file or a variable.
    context.say(`Key ${made.id} of ${made.name}: ${mayDo(made)}. It is shown this once:`);
    return { json: made, lines: [made.key] };
  });
}

function list(context: Context): Promise<Answer> {
  return withLocalVolley(context, async (volley) => {
    const keys = await volley.keys.list();
    const now = context.clock();
    const rows = keys.map((key) => [
      key.id,
      cut(oneLine(key.name), 30),
      key.scopes.join(','),
      key.lanes === null ? 'all' : key.lanes.join(','),
      moment(Date.parse(key.createdAt), now),
      key.lastUsedAt === null ? 'never' : moment(Date.parse(key.lastUsedAt), now),
    ]);
    const heading = ['ID', 'NAME', 'SCOPES', 'LANES', 'CREATED', 'LAST USED'];
    const none = 'No keys yet: make one with `volley keys create`.';
    return { json: { keys }, lines: rows.length === 0 ? [none] : table(heading, rows) };
  });
}

function revoke(context: Context, id: string): Promise<Answer> {
  return withLocalVolley(context, async (volley) => {
    await volley.keys.revoke(id);
    return { json: { id, revoked: true }, lines: [`Key ${id} opens nothing any more.`] };
  });
}

function mayDo({ scopes, lanes }: ApiKey): string {
  const where = lanes === null ? 'all lanes' : `lane${lanes.length === 1 ? '' : 's'} ${lanes.join(', ')}`;
  return `${scopes.join(', ')} on ${where}`;
}
