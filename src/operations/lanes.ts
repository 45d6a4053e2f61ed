import { z } from 'zod';
import type { Volley } from '../app/volley.js';
import { NoSuchLaneError } from '../campaign/errors.js';
import { type LaneStatus, laneStatus } from '../campaign/views.js';
import { allLanes, byLanesOfKey, byNamedLane } from './access.js';
import { call } from './operation.js';
import { laneName } from './schemas.js';

const ofLane = z.strictObject({ name: laneName });
const laneState = z.object({ lane: z.string(), state: z.string() });

/** The command of an operation that takes no more than the name of a lane. */
const commandOf = (verb: string) => ({
  usage: `lane ${verb} <name>`,
  arguments: { name: 'the lane' },
  examples: [`lane ${verb} default`],
});

/** An operation that changes what a lane does. */
const COMMAND = {
  tag: 'Lanes',
  scope: 'operate',
  bucket: 'control',
  access: byNamedLane,
  input: ofLane,
  output: laneState,
  outcomes: ['notFound'],
} as const;

async function statusOf(volley: Volley, name: string): Promise<LaneStatus> {
  const lanes = await volley.lanes();
  const lane = lanes.find((each) => each.name === name);
  if (lane !== undefined) return lane;
  throw new NoSuchLaneError(
    name,
    lanes.map((each) => each.name),
    'configured',
  );
}

export const listLanes = call({
  name: 'listLanes',
  summary: 'List the lanes and their status',
  description:
    'The status says how much of the quota is used, when more requests may be sent, and why the lane is paused.',
  httpNote: 'Only the lanes that the key may use.',
  tag: 'Lanes',
  scope: 'status',
  cost: { tokens: 1 },
  access: byLanesOfKey,
  http: 'GET /lanes',
  cli: { usage: 'lanes', examples: ['lanes'] },
  input: z.strictObject({}),
  output: z.object({ lanes: z.array(laneStatus) }),
  returns: 'The lanes',
  async run(volley, _input, { lanes: allowed }) {
    const lanes = await volley.lanes();
    return { lanes: lanes.filter(({ name }) => allowed?.includes(name) ?? true) };
  },
});

export const getLane = call({
  name: 'getLane',
  summary: 'Get the status of a lane',
  tag: 'Lanes',
  scope: 'status',
  access: byNamedLane,
  http: 'GET /lanes/{name}',
  cli: { because: '`volley lanes` shows the status of every lane' },
  input: ofLane,
  output: laneStatus,
  returns: 'The current status',
  outcomes: ['notFound'],
  run: (volley, { name }) => statusOf(volley, name),
});

export const holdLane = call({
  ...COMMAND,
  name: 'holdLane',
  summary: 'Hold a lane',
  description:
    'No request of the lane starts until you resume it. A lane that is paused resumes by itself; one that is held or stopped does not.',
  httpNote: 'Its state becomes `held`.',
  audit: 'lane.hold',
  http: 'POST /lanes/{name}/hold',
  cli: commandOf('hold'),
  returns: 'The lane is held',
  async run(volley, { name }) {
    await volley.holdLane(name);
    return { lane: name, state: 'held' };
  },
});

export const resumeLane = call({
  ...COMMAND,
  name: 'resumeLane',
  summary: 'Resume a held, paused, or stopped lane',
  description: 'If an error stopped the lane, fix its cause first.',
  audit: 'lane.resume',
  http: 'POST /lanes/{name}/resume',
  cli: commandOf('resume'),
  returns: 'The lane and its new state',
  async run(volley, { name }) {
    await volley.resumeLane(name);
    const status = (await volley.lanes()).find((lane) => lane.name === name);
    // One that is not configured here has no status here.
    return { lane: name, state: status?.state ?? 'open' };
  },
});

export const renameLane = call({
  ...COMMAND,
  name: 'renameLane',
  summary: 'Rename a lane',
  description:
    'The quota and the campaigns of the lane stay with it. Running processes, such as the HTTP API, keep the old name until you restart them with the new one in their settings.',
  httpNote: 'Requires a key for all lanes.',
  access: allLanes('The names of lanes'),
  audit: 'lane.rename',
  http: 'POST /lanes/{name}/rename',
  cli: {
    usage: 'lane rename <name> <new-name>',
    arguments: { name: 'the lane', 'new-name': 'its new name' },
    examples: ['lane rename default marketing'],
    byHand: 'the name is a member of `to`, because both a lane and the body of the request have a `name`',
  },
  input: ofLane.extend({ to: z.strictObject({ name: laneName.describe('The new name') }) }),
  body: 'to',
  output: z.object({ lane: z.string(), from: z.string(), id: z.string() }),
  returns: 'The lane has its new name',
  outcomes: ['notFound', 'badInput'],
  async run(volley, { name: from, to: { name: lane } }) {
    const { id } = await volley.renameLane(from, lane);
    return { lane, from, id };
  },
});
