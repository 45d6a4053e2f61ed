import { formatDuration } from '../../../base/duration.js';
import { moment } from '../../../base/moments.js';
import { asSentence } from '../../../campaign/errors/errors.js';
import type { CampaignStatus } from '../../../campaign/views/views.js';
import type { Context } from '../context/context.js';
import { campaignLine, renderCampaign } from '../output/progress.js';
import { createLivePicture } from '../output/terminal.js';

/** In a log or a pipe, a line appears when something changes, and at least this often. */
const LINE_EVERY_MS = 10_000;
/** The same, while Redis does not answer. */
const OLD_LINE_EVERY_MS = 60_000;
/** From this age on, what is shown says how old it is. It is read four times a second. */
const OLD_MS = 2_000;
const LOOK_EVERY_MS = 1_000;
const NO_ANSWER = 'Redis does not answer';

/** Shows the progress of a campaign on standard error, and how old it is while it cannot be read. */
interface Show {
  status(status: CampaignStatus): void;
  /** Says why the status cannot be read. */
  lost(reason: string): void;
  end(): void;
}

/** What differs between a terminal, and a log or a pipe. */
interface Canvas {
  /** `age`: how old the status is, for people; null if it is current. */
  draw(status: CampaignStatus, age: string | null, now: number): void;
  end(): void;
}

/** Creates a show. `howToStart`: how to start a worker. */
export function createShow(context: Context, howToStart: string): Show {
  const { clock } = context;
  const canvas = context.stderr.isTTY === true ? onTerminal(context, howToStart) : inLog(context, howToStart);
  let reason = NO_ANSWER;
  let last: { readonly status: CampaignStatus; readonly readAt: number } | undefined;
  const look = setInterval(() => {
    const now = clock();
    if (last === undefined || now - last.readAt < OLD_MS) return;
    canvas.draw(last.status, ageText(last.status, now - last.readAt, now, reason), now);
  }, LOOK_EVERY_MS);
  return {
    status(status) {
      const now = clock();
      last = { status, readAt: now };
      reason = NO_ANSWER;
      canvas.draw(status, null, now);
    },
    lost(why) {
      reason = why;
    },
    end() {
      clearInterval(look);
      canvas.end();
    },
  };
}

/** `This is from 14:03:20 CET, 12s ago. Redis does not answer. Volley keeps trying.` */
function ageText({ zone }: CampaignStatus, ageMs: number, now: number, reason: string): string {
  const age = formatDuration(Math.floor(ageMs / 1_000) * 1_000);
  return `This is from ${moment(now - ageMs, now, zone)}, ${age} ago. ${asSentence(reason)} Volley keeps trying.`;
}

function onTerminal({ stdin, stderr, paintErr }: Context, howToStart: string): Canvas {
  const live = createLivePicture(stderr, stdin);
  return {
    draw(status, age, now) {
      const picture = renderCampaign(status, { now, width: stderr.columns, paint: paintErr, howToStart });
      // First, because a small terminal does not show the end of a picture.
      live.draw(age === null ? picture : [paintErr('yellow', age), ...picture]);
    },
    end: () => live.end(),
  };
}

function inLog({ note }: Context, howToStart: string): Canvas {
  let shownAt = Number.NEGATIVE_INFINITY;
  let shown = '';
  return {
    draw(status, age, now) {
      const { id, state, waitingFor, blockedBy, endedAt } = status;
      const seen = age === null ? `${state} ${waitingFor} ${blockedBy?.reason} ${endedAt}` : 'old';
      if (seen === shown && now - shownAt < (age === null ? LINE_EVERY_MS : OLD_LINE_EVERY_MS)) return;
      shownAt = now;
      shown = seen;
      note(
        age === null
          ? campaignLine(status, now, howToStart)
          : `${moment(now, now, status.zone)} ${id}: ${age}`,
      );
    },
    end: () => {},
  };
}
