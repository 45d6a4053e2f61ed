import { commandOf, type Input, type Name } from '../base/api.js';
import type { Waiting } from '../base/live-types.js';
import { texts } from '../base/texts.js';
import { spanText } from '../base/times.js';
import { CommandButton } from './CommandDialog.js';
import { useNow } from './Time.js';

/** Why something waits, as the command line says it, and how long that still takes. */
export function Sentence({ waiting, lane }: { readonly waiting: Waiting; readonly lane?: string }) {
  const { text, until, tone, code } = waiting;
  // The bucket that frees the permit is on the screen of its lane.
  const isOfQuota = code === 'quota' && waiting.lane !== null && waiting.lane !== lane;
  return (
    <span class={tone}>
      {text} {until !== null && <Countdown until={until} />}
      {isOfQuota && (
        <>
          {' '}
          <a href={`/console/lanes/${encodeURIComponent(waiting.lane ?? '')}#freed`}>{texts.overview.why}</a>
        </>
      )}
    </span>
  );
}

/** How long that still takes. It is not announced: it changes every second. */
function Countdown({ until }: { readonly until: string }) {
  const left = Date.parse(until) - useNow();
  return left > 0 ? <span class="quiet">{texts.continues(spanText(left))}</span> : null;
}

interface RemedyProps {
  readonly remedy: Waiting['remedy'];
  readonly lane: string | null;
  readonly about: string;
}

/** The button of the operation that ends a wait. One that asks for more has its place on the screen of the campaign. */
export function Remedy({ remedy, lane, about }: RemedyProps) {
  switch (remedy?.operation) {
    case 'resumeLane':
      return (
        <CommandButton
          command="resumeLane"
          label="Resume"
          about={about}
          lane={lane ?? undefined}
          input={inputOf('resumeLane', remedy.path)}
          outcome={({ lane: name, state }) => texts.outcomes.laneResumed(name, state)}
        />
      );
    case 'resumeCampaign':
      return (
        <CommandButton
          command="resumeCampaign"
          label="Resume"
          about={about}
          lane={lane ?? undefined}
          input={inputOf('resumeCampaign', remedy.path)}
          outcome={({ state }) => texts.outcomes.resumed(state)}
        />
      );
    default:
      return null;
  }
}

/** The members of an operation's path in an address: `/v1/lanes/{name}/resume` in `/v1/lanes/main/resume`. */
function inputOf<Op extends Name>(name: Op, address: string): Input<Op> {
  const given = address.split('/');
  const members = commandOf(name)
    .path.split('/')
    .flatMap((part, at) =>
      part.startsWith('{') ? [[part.slice(1, -1), decodeURIComponent(given[at] ?? '')] as const] : [],
    );
  // The path of the operation has all members that it requires.
  return Object.fromEntries(members) as unknown as Input<Op>;
}
