import * as operations from '../../../operations/rows/lanes.js';
import { DONE } from '../../../operations/words.js';
import type { Answer, Context } from '../context/context.js';
import { settingsIn } from '../files/lane-file.js';
import { differencesFrom } from '../open/differences.js';
import { renderLane, storedLaneLines } from '../output/lane.js';
import { counted } from '../output/text.js';
import type { Answers, Typed } from './answer.js';

/** A removal that is refused is answered sooner. */
const NOTE_AFTER_MS = 1_000;

/** The settings of a lane come from a file, because the command line of a process is no secret. */
const settingsOf = async (given: { readonly name: string; readonly file: string }, context: Context) => ({
  ...(await settingsIn(context, given.file)),
  name: given.name,
});

const typed: Typed = {
  addLane: settingsOf,
  setLane: settingsOf,
  // Both a lane and the body of the request have a name.
  renameLane: ({ name, newName }: { readonly name: string; readonly newName: string }) => ({
    name,
    to: { name: newName },
  }),
};

const answers: Answers<'Lanes', typeof operations> = {
  async listLanes(run, { context, volley, setting }) {
    const { lanes } = await run();
    const now = context.clock();
    const differing = await differencesFrom(context, volley, setting.config);
    return {
      json: { lanes },
      lines: lanes.flatMap((lane) => [...renderLane(lane, now, context.paint), ...differing(lane.name)]),
    };
  },

  async resumeLane(run, { context, volley, setting, input: { name } }) {
    const resumed = await run();
    const differing = await differencesFrom(context, volley, setting.config);
    return { json: resumed, lines: [DONE.resumeLane.text(resumed), ...differing(name)] };
  },

  async renameLane(run, { setting, input: { name, to } }) {
    const isConfigured = setting.config.lanes.some((lane) => lane.name === to.name);
    const next = isConfigured ? '' : ' Change its name in your settings, too, before you restart a process.';
    return {
      json: await run(),
      lines: [`Lane ${name} is now called ${to.name}; its quota and campaigns stay with it.${next}`],
    };
  },

  addLane: async (run) => settingsAnswer(await run(), 'is added; workers serve it within 5 seconds.'),
  setLane: async (run) =>
    settingsAnswer(await run(), 'is changed; requests in flight finish, and new ones use the new settings.'),
  getLaneSettings: async (run) => settingsAnswer(await run()),

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

/** The settings of a lane, below what was done to it. */
function settingsAnswer(lane: Parameters<typeof storedLaneLines>[0], done?: string): Answer {
  const first = done === undefined ? [] : [`Lane ${lane.name} ${done}`];
  return { json: lane, lines: [...first, ...storedLaneLines(lane)] };
}

export { answers, operations, typed };
