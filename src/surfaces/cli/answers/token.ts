import type { TokenState } from '../../../app/volley.js';
import { formatDuration, secondsOf } from '../../../base/duration.js';
import { EXIT, type ExitCode } from '../../../base/exit-codes.js';
import { moment } from '../../../base/moments.js';
import * as operations from '../../../operations/rows/token.js';
import type { Answer } from '../context/context.js';
import { withServiceVolley } from '../open/open.js';
import { oneLine } from '../output/text.js';
import type { Answers, Scene } from './answer.js';

type OnLane = Scene<{ readonly lane: string }>;

const answers: Answers<'Tokens', typeof operations> = {
  async showToken(run, scene) {
    const { lane, ...state } = await run();
    const targetAccount = targetOf(scene);
    return { json: { lane, targetAccount, ...state }, lines: renderToken(described(scene), state) };
  },
  logIn: (run, scene) => renewed(run, scene, 'Logged in'),
  renewToken: (run, scene) => renewed(run, scene, 'Refreshed'),
};

/** The child organisation that the account of the lane acts for; null: none. */
function targetOf({ setting, input }: OnLane): string | null {
  return setting.config.lanes.find(({ name }) => name === input.lane)?.targetAccountId ?? null;
}

function described(scene: OnLane): string {
  const target = targetOf(scene);
  return target === null ? scene.input.lane : `${scene.input.lane} (target account ${oneLine(target)})`;
}

/** A duration in its two largest units. */
const shown = (duration: string): string => formatDuration(1_000 * secondsOf(duration));

function renderToken(lane: string, state: TokenState): string[] {
  const life = [
    ...(state.age === null ? [] : [`${shown(state.age)} old`]),
    ...(state.expiresIn === null
      ? []
      : [state.state === 'expired' ? 'expired' : `valid for ${shown(state.expiresIn)}`]),
    ...(state.fetching ? ['a process is fetching the next one'] : []),
  ];
  const { attemptsLeft, proven, retryIn } = state.login;
  return [
    `Lane ${lane}: token ${state.state}${life.length === 0 ? '' : `, ${life.join(', ')}`}.`,
    `Refresh token: ${state.refreshToken}. Stored ${state.encrypted ? 'encrypted' : 'unencrypted; set SECRETS_KEY to encrypt it'}.`,
    `Logins left before Volley stops trying: ${attemptsLeft}${proven ? '; this password has worked before' : ''}${retryIn === null ? '' : `; the next one is allowed in ${shown(retryIn)}`}.`,
    ...(state.blockedReason === null ? [] : [state.blockedReason]),
  ];
}

/** What a login or a renewal came to. `done`: what was done if it succeeded. */
async function renewed(run: () => Promise<operations.Renewal>, scene: OnLane, done: string): Promise<Answer> {
  const { lane, ...renewal } = await run();
  const answer = (exit: ExitCode, line: string): Answer => ({
    json: { lane, targetAccount: targetOf(scene), ...renewal },
    lines: [line],
    exit,
  });
  switch (renewal.outcome) {
    case 'token':
      return answer(EXIT.done, `${done}: lane ${described(scene)} uses token number ${renewal.generation}.`);
    case 'later': {
      const next = moment(Date.parse(renewal.at), scene.context.clock());
      return answer(EXIT.failed, `${renewal.reason} Next attempt: ${next}.`);
    }
    case 'stopped':
      return answer(
        EXIT.waits,
        `${renewal.reason} Once you have fixed it: volley token login --lane ${lane} --again`,
      );
    default:
      return renewal satisfies never;
  }
}

/** All of them call the account service. */
const opener = () => withServiceVolley;

export { answers, opener, operations };
