import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../src/config/index.js';
import { createEvents } from '../../src/events/events.js';
import { createVolley, type Volley } from '../../src/runtime.js';
import type { SimulatorOptions } from '../../src/simulator/options.js';
import { type Program, startProgram } from './program.js';
import { type SimulatorProcess, startSimulatorProcess } from './simulator-process.js';

/** The processes there are, by the names of their files. */
export type Kind = 'send' | 'follow-up' | 'all' | 'http';

export interface FleetOptions {
  readonly redisUrl: string;
  readonly prefix: string;
  readonly simulator?: SimulatorOptions;
  /** Environment of all processes; what is not given is compressed to seconds. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Contents of a lanes file; default: one lane with the key `key`. */
  readonly lanes?: readonly object[];
  readonly workers: readonly Kind[];
  /** What the environment of each place among the processes has of its own, whichever process takes it. */
  readonly own?: (place: number, simulator: SimulatorProcess) => Promise<Readonly<Record<string, string>>>;
}

/** A worker process of a fleet, in whose place another may come. */
export interface Member {
  readonly kind: Kind;
  /** From 0, in the order they were asked for. */
  readonly place: number;
  program: Program;
}

/** Worker processes and a service on this machine, and an operator beside them. */
export interface Fleet {
  /** Asks and orders; serves no lane. */
  readonly volley: Volley;
  readonly simulator: SimulatorProcess;
  readonly members: readonly Member[];
  /** Resolves when all processes that run take work. */
  ready(): Promise<void>;
  /** Starts one more process. */
  add(kind: Kind): Promise<Member>;
  /** Ends the process by that signal and waits for it; its place stays empty until `begin`. Returns how it ended. */
  end(member: Member, signal: NodeJS.Signals): Promise<number | string>;
  /** Starts another process in the place of one that has ended. */
  begin(member: Member): void;
  /** Ends the process as `kill -9` does and starts another in its place. Returns the time of the end, ms. */
  kill(member: Member): Promise<number>;
  /** Everything that all processes, the killed ones too, have logged under that event. */
  logged(event: string): Record<string, unknown>[];
  /** All that was logged, process by process, as `place lines`. */
  logs(): string[];
  close(): Promise<void>;
}

const COMPRESSED = {
  API_KEY: 'key',
  HOURLY_QUOTA: '1000000',
  QUOTA_WINDOW_MS: '30000',
  // Long enough for a machine that is busy with other tests: what has timed out is of unknown outcome for good.
  REQUEST_TIMEOUT_MS: '3000',
  FOLLOW_UP_FIRST_MS: '500',
  SENDER_ADDRESS: 'ACME',
  LOG_LEVEL: 'info',
};

const READY_WITHIN_MS = 30_000;

/** Starts all of it. Whoever starts a fleet closes it, or its processes are left behind. */
export async function startFleet(options: FleetOptions): Promise<Fleet> {
  const folder = await mkdtemp(join(tmpdir(), 'volley-fleet-'));
  const simulator = await startSimulatorProcess({ magicRecipients: 'off', ...options.simulator });
  const { API_KEY, ...compressed } = COMPRESSED;
  const environment: Record<string, string> = {
    ...compressed,
    REDIS_URL: options.redisUrl,
    REDIS_PREFIX: options.prefix,
    MESSAGING_BASE_URL: simulator.messagingBaseUrl,
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
  const owned: Readonly<Record<string, string>>[] = [];
  const start = (kind: Kind, place: number): Program =>
    startProgram(`workers/${kind}.js`, { ...environment, ...owned[place] });
  const enter = async (kind: Kind, place: number): Promise<Member> => {
    owned[place] = (await options.own?.(place, simulator)) ?? {};
    return { kind, place, program: start(kind, place) };
  };
  const members: Member[] = await Promise.all(options.workers.map(enter));
  const gone: { place: number; program: Program }[] = [];
  const end = async (member: Member, signal: NodeJS.Signals): Promise<number | string> => {
    gone.push({ place: member.place, program: member.program });
    return member.program.end(signal);
  };
  const begin = (member: Member): void => {
    member.program = start(member.kind, member.place);
  };

  return {
    volley,
    simulator,
    members,
    async ready() {
      await Promise.all(members.map(({ program }) => takesWork(program)));
    },
    async add(kind) {
      const member = await enter(kind, members.length);
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
      return [...gone, ...members].map(({ place, program }) => `${place} ${program.log.join('\n')}`);
    },
    logged(event) {
      const lines = [...gone, ...members].flatMap(({ program }) => program.log);
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

async function takesWork(program: Program): Promise<void> {
  const patience = Date.now() + READY_WITHIN_MS;
  while (!program.log.some((line) => entryOf(line)['event'] === 'process.ready')) {
    if (!program.isRunning || Date.now() > patience) {
      throw new Error(`a worker process did not become ready: ${program.log.join('\n')}`);
    }
    await new Promise((later) => setTimeout(later, 20));
  }
}

/** A line of a log; what is none, such as a stack trace, is an entry without an event. */
function entryOf(line: string): Record<string, unknown> {
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch {
    return { line };
  }
}
