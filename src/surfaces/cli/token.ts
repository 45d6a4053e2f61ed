import type { Volley } from '../../app/volley.js';
import { accountOf, type Config } from '../../base/config/index.js';
import { formatDuration } from '../../base/duration.js';
import { EXIT, type ExitCode } from '../../base/exit-codes.js';
import type { Answer, Context } from './context.js';
import { badInput } from './errors.js';
import { findService, withVolley } from './open.js';
import { moment, oneLine } from './text.js';

type Token = NonNullable<ReturnType<Volley['token']>>;
type Outcome = Awaited<ReturnType<Token['login']>>;
type State = Awaited<ReturnType<Token['show']>>;

interface TokenOptions {
  lane?: string;
  again?: boolean;
}

/** `volley token show` */
export function show(context: Context, options: TokenOptions): Promise<Answer> {
  return withToken(context, options, async (token, lane) => {
    const state = await token.show();
    return { json: { ...lane, ...state }, lines: renderToken(lane, state) };
  });
}

/** `volley token login` */
export function login(context: Context, options: TokenOptions): Promise<Answer> {
  return withToken(context, options, async (token, lane) =>
    tokenAnswer(await token.login({ again: options.again === true }), lane, 'Logged in', context),
  );
}

/** `volley token refresh` */
export function refresh(context: Context, options: TokenOptions): Promise<Answer> {
  return withToken(context, options, async (token, lane) =>
    tokenAnswer(await token.refreshNow(), lane, 'Refreshed', context),
  );
}

async function withToken(
  context: Context,
  options: TokenOptions,
  use: (token: Token, lane: TokenLane) => Promise<Answer>,
): Promise<Answer> {
  const setting = await findService(context);
  const lane = options.lane ?? onlyAccountLane(setting.config);
  return withVolley(context, setting, async (volley) => {
    const token = volley.token(lane);
    if (token === null) throw badInput(`Lane ${lane} has no account, so it has no token.`);
    const found = setting.config.lanes.find(({ name }) => name === lane);
    const account = found && accountOf(found.credentials);
    return use(token, { lane, targetAccount: account?.targetAccountId ?? null });
  });
}

function onlyAccountLane({ lanes }: Config): string {
  const names = lanes
    .filter(({ credentials }) => accountOf(credentials) !== undefined)
    .map(({ name }) => name);
  const [only] = names;
  if (only === undefined) throw badInput('No lane has an account. Lanes with only an API key have no token.');
  if (names.length > 1)
    throw badInput(`Several lanes have an account. Choose one with --lane (${names.join(', ')}).`);
  return only;
}

/** A lane with an account, and the child organisation that the account acts for. */
interface TokenLane {
  readonly lane: string;
  readonly targetAccount: string | null;
}

function described({ lane, targetAccount }: TokenLane): string {
  return targetAccount === null ? lane : `${lane} (target account ${oneLine(targetAccount)})`;
}

function renderToken(lane: TokenLane, state: State): string[] {
  const life = [
    ...(state.ageMs === null ? [] : [`${formatDuration(state.ageMs)} old`]),
    ...(state.expiresInMs === null
      ? []
      : [state.expiresInMs > 0 ? `valid for ${formatDuration(state.expiresInMs)}` : 'expired']),
    ...(state.fetching ? ['a process is fetching the next one'] : []),
  ];
  const { attemptsLeft, proven, retryInMs } = state.login;
  return [
    `Lane ${described(lane)}: token ${state.state}${life.length === 0 ? '' : `, ${life.join(', ')}`}.`,
    `Refresh token: ${state.refreshToken}. Stored ${state.encrypted ? 'encrypted' : 'unencrypted; set SECRETS_KEY to encrypt it'}.`,
    `Logins left before Volley stops trying: ${attemptsLeft}${proven ? '; this password has worked before' : ''}${retryInMs === null ? '' : `; the next one is allowed in ${formatDuration(retryInMs)}`}.`,
    ...(state.blockedReason === null ? [] : [state.blockedReason]),
  ];
}

function tokenAnswer(outcome: Outcome, lane: TokenLane, done: string, { clock }: Context): Answer {
  const again = `volley token login --lane ${lane.lane} --again`;
  const answer = (exit: ExitCode, line: string, more: object = {}): Answer => ({
    json: { ...lane, outcome: outcome.kind, ...more },
    lines: [line],
    exit,
  });
  switch (outcome.kind) {
    case 'token':
      return answer(EXIT.done, `${done}: lane ${described(lane)} uses token number ${outcome.generation}.`, {
        generation: outcome.generation,
      });
    case 'later':
      return answer(EXIT.failed, `${outcome.reason} Next attempt: ${moment(outcome.at, clock())}.`, {
        reason: outcome.reason,
        at: new Date(outcome.at).toISOString(),
      });
    case 'stopped':
      return answer(EXIT.waits, `${outcome.reason} Once you have fixed it: ${again}`, {
        reason: outcome.reason,
      });
    default:
      return outcome satisfies never;
  }
}
