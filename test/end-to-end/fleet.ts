import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createVolley, type Volley } from '../../src/app/runtime.js';
import { loadConfig } from '../../src/base/config/index.js';
import { createEvents } from '../../src/base/events/events.js';
import type { SimulatorOptions } from '../../src/tools/simulator/rules/options.js';
import { type Program, startProgram } from './program.js';
import { type SimulatorProcess, startSimulatorProcess } from './simulator-process.js';

/** The kinds of processes, named like their files in workers/. */
export type Kind = 'send' | 'follow-up' | 'webhooks' | 'all' | 'http';

export interface FleetOptions {
  readonly redisUrl: string;
  readonly prefix: string;
  readonly simulator?: SimulatorOptions;
  /** Environment of all processes. The defaults shorten every time to seconds. */
  readonly settings?: Readonly<Record<string, string>>;
  /** The profile of all lanes; default: v1. */
  readonly profile?: 'v1' | 'v3' | undefined;
  /** Contents of a lanes file; default: one lane with the key `key`. */
  readonly lanes?: readonly object[];
  readonly workers: readonly Kind[];
  /** What gives all processes, and the simulator, another clock: see `settableClock`. */
  readonly clock?: Readonly<Record<string, string>> | undefined;
  /** Additional environment of each place. A process that replaces another takes over its place. */
  readonly own?: (place: number, simulator: SimulatorProcess) => Promise<Readonly<Record<string, string>>>;
  /** What starts the process of a place (see `startProgram`); default: nothing. */
  readonly launcher?: (place: number) => readonly string[];
}

/** A place in the fleet and the worker process that currently fills it. */
export interface Member {
  readonly kind: Kind;
  /** From 0, in the order of `workers`. */
  readonly place: number;
  program: Program;
}

/** Worker processes, a simulator process, and a client for commands. */
export interface Fleet {
  /** For queries and commands; it serves no lane. */
  readonly volley: Volley;
  readonly simulator: SimulatorProcess;
  /** What all processes have in common; with it, one more command, or client, is of this fleet. */
  readonly environment: Readonly<Record<string, string>>;
  readonly members: readonly Member[];
  /** Resolves when all processes are ready. */
  ready(): Promise<void>;
  /** Starts one more process. */
  add(kind: Kind): Promise<Member>;
  /** Sends the signal and waits until the process has ended. Returns its exit code or signal. `begin` refills the place. */
  end(member: Member, signal: NodeJS.Signals): Promise<number | string>;
  /** Starts a new process in the place of one that has ended. */
  begin(member: Member): void;
  /** Kills the process with SIGKILL and starts a new one in its place. Returns the time of the kill, ms since the epoch. */
  kill(member: Member): Promise<number>;
  /** The log entries with this event of all processes, including ended ones. */
  logged(event: string): Record<string, unknown>[];
  /** All log lines, one text per process, starting with its place. */
  logs(): string[];
  close(): Promise<void>;
}

const COMPRESSED = {
  API_KEY: 'key',
  HOURLY_QUOTA: '1000000',
  QUOTA_WINDOW_MS: '30000',
  // Long enough for a machine that is busy with other tests, because a timed-out request keeps an unknown outcome.
  REQUEST_TIMEOUT_MS: '3000',
  FOLLOW_UP_FIRST_MS: '500',
  SENDER_ADDRESS: 'ACME',
  LOG_LEVEL: 'info',
};

const READY_WITHIN_MS = 30_000;

/** Starts the fleet. Close it, or its processes keep running. */
export async function startFleet(options: FleetOptions): Promise<Fleet> {
  const folder = await mkdtemp(join(tmpdir(), 'volley-fleet-'));
  const simulator = await startSimulatorProcess(
    { magicRecipients: 'off', ...options.simulator },
    options.clock,
  );
  const { API_KEY, ...compressed } = COMPRESSED;
  const environment: Record<string, string> = {
    ...compressed,
    REDIS_URL: options.redisUrl,
    REDIS_PREFIX: options.prefix,
    MESSAGING_BASE_URL: (options.profile === 'v3' ? simulator.v3 : simulator).messagingBaseUrl,
    ...(options.profile === 'v3' ? { TOKEN_URL: simulator.v3.tokenUrl } : {}),
    ...options.settings,
  };
  if (options.lanes !== undefined) {
    environment['LANES_FILE'] = join(folder, 'lanes.json');
    await writeFile(environment['LANES_FILE'], JSON.stringify(options.lanes));
  } else if (environment['ACCOUNT_USERNAME'] === undefined) {
    environment['API_KEY'] ??= API_KEY;
  }
  let volley: Volley;
  try {
    volley = createVolley({ config: loadConfig(environment), events: createEvents({ level: 'silent' }) });
  } catch (error) {
    await simulator.stop();
    throw error;
  }
  const ownEnvironments: Readonly<Record<string, string>>[] = [];
  const start = (kind: Kind, place: number): Program =>
    startProgram(
      `workers/${kind}.js`,
      { ...environment, ...options.clock, ...ownEnvironments[place] },
      [],
      options.launcher?.(place),
    );
  const createMember = async (kind: Kind, place: number): Promise<Member> => {
    ownEnvironments[place] = (await options.own?.(place, simulator)) ?? {};
    return { kind, place, program: start(kind, place) };
  };
  const members: Member[] = await Promise.all(options.workers.map(createMember));
  const ended: { place: number; program: Program }[] = [];
  const end = async (member: Member, signal: NodeJS.Signals): Promise<number | string> => {
    ended.push({ place: member.place, program: member.program });
    return member.program.end(signal);
  };
  const begin = (member: Member): void => {
    member.program = start(member.kind, member.place);
  };

  return {
    volley,
    simulator,
    environment,
    members,
    async ready() {
      await Promise.all(members.map(({ program }) => untilReady(program)));
    },
    async add(kind) {
      const member = await createMember(kind, members.length);
      members.push(member);
      return member;
    },
    end,
    begin,
    async kill(member) {
      await end(member, 'SIGKILL');
      const at = Date.now();
      begin(member);
      return at;
    },
    logs() {
      return [...ended, ...members].map(({ place, program }) => `${place} ${program.log.join('\n')}`);
    },
    logged(event) {
      const lines = [...ended, ...members].flatMap(({ program }) => program.log);
      return lines.map(entryOf).filter((entry) => entry['event'] === event);
    },
    async close() {
      await Promise.all(members.map(({ program }) => program.end('SIGKILL')));
      await volley.close();
      await simulator.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function untilReady(program: Program): Promise<void> {
  const deadline = Date.now() + READY_WITHIN_MS;
  while (!program.log.some((line) => entryOf(line)['event'] === 'process.ready')) {
    if (!program.isRunning || Date.now() > deadline) {
      throw new Error(`a worker process did not become ready: ${program.log.join('\n')}`);
    }
    await new Promise((later) => setTimeout(later, 20));
  }
}

/** Parses a log line. Other text, such as a stack trace, becomes an entry without an event. */
function entryOf(line: string): Record<string, unknown> {
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch {
    return { line };
  }
}

/** The credentials of a lane with this name, and what the simulator has to know about them. */
export function laneCredentials(profile: 'v1' | 'v3', name: string) {
  if (profile === 'v1') return { lane: { apiKey: name }, key: { key: name }, keyName: name, clients: [] };
  const client = { id: name, secret: 'secret', product: 'sms-a2p-marketing' };
  return {
    lane: { profile, client },
    key: { account: name },
    keyName: `account:${name}`,
    clients: [{ id: name, secret: 'secret' }],
  };
}
