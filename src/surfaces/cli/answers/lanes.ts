import { differenceLine } from '../../../app/doctor/differences.js';
import * as operations from '../../../operations/lanes.js';
import { differencesFrom } from '../differences.js';
import { renderLane, storedLaneLines } from '../lane.js';
import { counted } from '../text.js';
import type { Answers } from './answer.js';

/** What a lane does after it is resumed, by its state. */
const NEXT: Readonly<Record<string, string>> = {
  probing: ' It sends one request first, and the rest when the service accepts that one.',
  recovering: ' It sends when its workers have reported again what they sent last.',
};

/** A removal that is refused is answered sooner. */
const NOTE_AFTER_MS = 1_000;

const answers: Answers<'Lanes', typeof operations> = {
  async listLanes(run, { context, volley, setting }) {
    const { lanes } = await run();
    const now = context.clock();
    const differences = await differencesFrom(context, volley, setting.config);
    return {
      json: { lanes },
      lines: lanes.flatMap((lane) => [
        ...renderLane(lane, now, context.paint),
        ...differences.filter((each) => each.lane === lane.name).map(differenceLine),
      ]),
    };
  },

  async holdLane(run, { input: { name } }) {
    return {
      json: await run(),
      lines: [`Lane ${name} is held. To resume it: volley lane resume ${name}`],
    };
  },

  async resumeLane(run, { context, volley, setting, input: { name } }) {
    const resumed = await run();
    const differences = await differencesFrom(context, volley, setting.config);
    return {
      json: resumed,
      lines: [
        `Lane ${name} is resumed.${NEXT[resumed.state] ?? ''}`,
        ...differences.filter(({ lane }) => lane === name).map(differenceLine),
      ],
    };
  },

  async getLaneSettings(run) {
    const lane = await run();
    return { json: lane, lines: storedLaneLines(lane) };
  },

  async removeLane(run, { context, input: { name } }) {
    const waits = setTimeout(
      () =>
        context.note(
          `Lane ${name} takes nothing new. Before Volley cancels what waits, it counts again, in a few seconds.`,
        ),
      NOTE_AFTER_MS,
    );
    const removed = await run().finally(() => clearTimeout(waits));
    const { cancelled } = removed;
    return {
      json: removed,
      lines: [
        `Lane ${name} is being removed; ${counted(cancelled, 'recipient')} ${cancelled === 1 ? 'was' : 'were'} cancelled. Its credentials are deleted when its last reports have arrived.`,
      ],
    };
  },
};

export { answers, operations };
