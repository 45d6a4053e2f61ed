import type { Config, LocalConfig } from '../../../base/config/index.js';
import { EXIT } from '../../../base/exit-codes.js';
import { ROLES, type Role } from '../../../engine/recovery/roles.js';
import type { SimulatorOptions, Summary } from '../../../tools/simulator/index.js';
import {
  listenForStop,
  type ProcessOptions,
  runProcess,
  servingHttp,
  servingLanes,
} from '../../lifecycle.js';
import type { Context } from '../context/context.js';
import { badInput } from '../context/errors.js';
import { findLocal, findService, mustAnswer } from '../open/open.js';
import type { RunningSimulator } from '../open/up-file.js';
import { counted } from '../output/text.js';

/** How long requests in flight may take once the simulator starts to stop. */
const SIMULATOR_DRAIN_MS = 2_000;

/** `volley work` */
export async function work(
  context: Context,
  { roles = ROLES, concurrency }: { roles?: readonly Role[]; concurrency?: number },
): Promise<undefined> {
  const { config, simulator } = await findService(context);
  await mustAnswer(config.redisUrl, context);
  await untilStopped(context, {
    config,
    role: roles.join('+'),
    parts: [servingLanes(roles, concurrency)],
    onReady: () => {
      context.note(`Working (${roles.join(', ')}) for ${laneNames(config)}${simulated(simulator)}.`);
      reportReady(context, config, { roles, simulator: simulator !== undefined });
    },
  });
}

/** `volley serve` */
export async function serve(context: Context): Promise<undefined> {
  const local = await findLocal(context);
  // Requests for call records go out from this process, so it needs the credentials.
  const hasRecords = local.config.records.contractFile !== undefined;
  const { config, simulator } = hasRecords ? await findService(context) : local;
  await mustAnswer(config.redisUrl, context);
  await untilStopped<Config | LocalConfig>(context, {
    config,
    role: 'http',
    parts: [servingHttp],
    onReady: (messages) => {
      for (const message of messages) context.note(message);
      context.note(`It serves ${laneNames(config)}${simulated(simulator)}.`);
      reportReady(context, config, { http: true, simulator: simulator !== undefined });
    },
  });
}

const simulated = (simulator: RunningSimulator | undefined): string =>
  simulator === undefined ? '' : '; messages go to a simulator, not to phones';

/** Runs a process until Ctrl-C or SIGTERM, with its messages on standard error. */
export async function untilStopped<Configuration extends Config | LocalConfig>(
  context: Context,
  options: Omit<ProcessOptions<Configuration>, 'stop'>,
  stop = listenForStop(),
): Promise<void> {
  try {
    await runProcess({
      ...options,
      stop,
      onDraining: () => context.note('Stopping: finishing in-flight requests. Ctrl-C again stops at once.'),
      onAbandoned: (error) => context.fail(error),
    });
  } finally {
    stop.dispose();
  }
}

/** With `--json`, prints that a process is ready, and what it does. */
export function reportReady(context: Context, { lanes }: Config | LocalConfig, more: object): void {
  if (context.json)
    context.print({
      json: { ready: true, pid: process.pid, lanes: lanes.map(({ name }) => name), ...more },
      lines: [],
    });
}

/** `2 lanes (main, auto)` */
export function laneNames({ lanes }: Config | LocalConfig): string {
  return `${counted(lanes.length, 'lane')} (${lanes.map(({ name }) => name).join(', ')})`;
}

/** What a simulator did, for its end. */
export function summaryText({
  requests,
  recipients,
  duplicates,
  throttled,
}: Pick<Summary, 'requests' | 'recipients' | 'duplicates' | 'throttled'>): string {
  const accepted = `The simulator accepted ${counted(requests, 'request')} for ${counted(recipients, 'recipient')}`;
  const refused = `refused ${counted(throttled, 'request')} with 429`;
  const twice =
    duplicates === 0
      ? 'No number got the same text twice.'
      : `${counted(duplicates, 'number')} got the same text more than once, as after \`volley send --again\`, another run of a schedule, or \`volley resolve --resend\`.`;
  return `${accepted}, and ${refused}. ${twice}`;
}

/** `volley simulator` */
export async function simulate(
  context: Context,
  { host, port, options }: { host?: string; port?: number; options: SimulatorOptions },
): Promise<undefined> {
  const { SimulatorOptionsError, startSimulator } = await import('../../../tools/simulator/index.js');
  const stop = listenForStop();
  try {
    const simulator = await startSimulator({
      ...options,
      ...(host === undefined ? {} : { host }),
      ...(port === undefined ? {} : { port }),
    }).catch((error: unknown) => {
      if (error instanceof SimulatorOptionsError) throw badInput(error.message);
      if (!(error instanceof Error) || !('code' in error) || error.code !== 'EADDRINUSE') throw error;
      throw badInput(
        `Port ${port ?? options.port} is in use. Choose another with --port, or leave out --port to use a free one.`,
      );
    });
    const { messagingBaseUrl, accountBaseUrl, v3, controlToken } = simulator;
    context.print({
      json: { messagingBaseUrl, accountBaseUrl, v3, controlToken },
      lines: [`MESSAGING_BASE_URL=${messagingBaseUrl}`, `ACCOUNT_BASE_URL=${accountBaseUrl}`],
      exit: EXIT.done,
    });
    const keys = (options.keys ?? [{ key: 'simulator-key' }]).flatMap((entry) =>
      'key' in entry ? [entry.key] : [],
    );
    context.note(
      `The simulator is running and sends no messages. Keys: ${keys.join(', ') || 'none'}. Ctrl-C ends it.`,
    );
    if (controlToken !== undefined) {
      context.note(`For /_simulator/, clients send: Authorization: Bearer ${controlToken}`);
    }
    await stop.received;
    await simulator.close(SIMULATOR_DRAIN_MS);
    context.note(summaryText(simulator.summary()));
  } finally {
    stop.dispose();
  }
}
