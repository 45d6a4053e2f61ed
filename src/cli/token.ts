import type { Command } from 'commander';
import type { Config } from '../config/index.js';
import { formatDuration } from '../duration.js';
import type { Volley } from '../volley.js';
import { action, examples } from './action.js';
import type { Answer, Context } from './context.js';
import { badInput, EXIT, type ExitCode } from './exit.js';
import { findService, withVolley } from './open.js';
import { filled } from './parsed.js';
import { moment } from './text.js';

type Token = NonNullable<ReturnType<Volley['token']>>;
type Outcome = Awaited<ReturnType<Token['login']>>;
type State = Awaited<ReturnType<Token['show']>>;

interface TokenOptions {
  lane?: string;
  again?: boolean;
}

/** Adds `volley token`. */
export function addToken(program: Command, context: Context): void {
  const token = program
    .command('token')
    .summary("look after an account's token")
    .description(
      'Looks after the token of a lane that sends by an account. It is shared by all processes, and never printed.',
    );
  const common = (command: Command): Command =>
    command
      .option('-l, --lane <name>', 'the lane (default: the only one with an account)', filled)
      .option('--json', 'print one JSON object');
  common(
    token.command('show').description('Shows how the token stands: its age, its end, and the logins left.'),
  )
    .addHelpText('after', examples('token show'))
    .action(action(context, (options: TokenOptions) => withToken(context, options, show)));
  common(
    token.command('login').description('Logs in anew. Exit code 3: the service refuses until somebody acts.'),
  )
    .option('--again', 'also after logins were stopped, once the reason is mended')
    .addHelpText('after', examples('token login --again'))
    .action(
      action(context, (options: TokenOptions) =>
        withToken(context, options, async (cache, lane) =>
          outcomeAnswer(await cache.login({ again: options.again === true }), lane, 'Logged in', context),
        ),
      ),
    );
  common(
    token.command('refresh').description('Has the token renewed now, by the refresh token if there is one.'),
  )
    .addHelpText('after', examples('token refresh'))
    .action(
      action(context, (options: TokenOptions) =>
        withToken(context, options, async (cache, lane) =>
          outcomeAnswer(await cache.refreshNow(), lane, 'Refreshed', context),
        ),
      ),
    );
}

async function withToken(
  context: Context,
  options: TokenOptions,
  use: (token: Token, lane: string) => Promise<Answer>,
): Promise<Answer> {
  const setting = await findService(context);
  const lane = options.lane ?? onlyAccountLane(setting.config);
  return withVolley(context, setting, async (volley) => {
    const token = volley.token(lane);
    if (token === null)
      throw badInput(`Lane ${lane} sends with an API key: there is no token to look after.`);
    return use(token, lane);
  });
}

function onlyAccountLane({ lanes }: Config): string {
  const names = lanes.filter(({ credentials }) => credentials.kind === 'account').map(({ name }) => name);
  const [only] = names;
  if (only === undefined)
    throw badInput('No lane sends by an account: with API keys there is no token to look after.');
  if (names.length > 1)
    throw badInput(`Several lanes send by an account: name one with --lane (${names.join(', ')}).`);
  return only;
}

async function show(token: Token, lane: string): Promise<Answer> {
  const state = await token.show();
  return { json: { lane, ...state }, lines: renderToken(lane, state) };
}

/** How a token stands, for people. */
export function renderToken(lane: string, state: State): string[] {
  const life = [
    ...(state.ageMs === null ? [] : [`${formatDuration(state.ageMs)} old`]),
    ...(state.expiresInMs === null
      ? []
      : [state.expiresInMs > 0 ? `good for ${formatDuration(state.expiresInMs)}` : 'expired']),
    ...(state.fetching ? ['the next one is being fetched'] : []),
  ];
  const { attemptsLeft, proven, retryInMs } = state.login;
  return [
    `Lane ${lane}: token ${state.state}${life.length === 0 ? '' : `, ${life.join(', ')}`}.`,
    `Refresh token: ${state.refreshToken}. Stored ${state.encrypted ? 'encrypted' : 'in the clear; set SECRETS_KEY to encrypt it'}.`,
    `Logins left before it stops: ${attemptsLeft}${proven ? '; this password has worked before' : ''}${retryInMs === null ? '' : `; the next one may be tried in ${formatDuration(retryInMs)}`}.`,
    ...(state.blockedReason === null ? [] : [state.blockedReason]),
  ];
}

function outcomeAnswer(outcome: Outcome, lane: string, done: string, { clock }: Context): Answer {
  const answer = (exit: ExitCode, line: string, more: object = {}): Answer => ({
    json: { lane, outcome: outcome.kind, ...more },
    lines: [line],
    exit,
  });
  switch (outcome.kind) {
    case 'token':
      return answer(EXIT.done, `${done}: lane ${lane} has token number ${outcome.generation}.`, {
        generation: outcome.generation,
      });
    case 'later':
      return answer(EXIT.failed, `${outcome.reason} Next attempt: ${moment(outcome.at, clock())}.`, {
        reason: outcome.reason,
        at: new Date(outcome.at).toISOString(),
      });
    case 'stopped':
      return answer(EXIT.waits, outcome.reason, { reason: outcome.reason });
    default:
      return outcome satisfies never;
  }
}
