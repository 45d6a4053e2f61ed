/** The tables of bench/README.md, section "Scale". Pure. */
import type { CampaignsFigures } from './campaigns.js';
import { type Cost, sum } from './cost.js';
import type { SettingOptions } from './setting.js';
import type { SizeFigures } from './sizes.js';

const grouped = new Intl.NumberFormat('en-GB');
const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
const head = (cells: readonly string[]): string[] => [row(cells), `|${'---|'.repeat(cells.length)}`];

/** The cost per recipient. */
export function sizeRows(figures: readonly SizeFigures[], idle: { seconds: number; cost: Cost }): string[] {
  const columns = [
    'recipients',
    'imported after, s',
    'all final after, s',
    'ms',
    'Redis commands',
    'Redis network bytes',
    'Redis memory kept, bytes',
    'Redis file bytes',
    'CPU µs: Redis / workers / service',
  ];
  const each = ({ recipients, importS, wholeS, cost }: SizeFigures): string => {
    const a = (value: number, digits: number): string => (value / recipients).toFixed(digits);
    const micro = [sum(cost.nodeMs), cost.processMs['workers'] ?? 0, cost.processMs['service'] ?? 0];
    return row([
      grouped.format(recipients),
      importS.toFixed(1),
      wholeS.toFixed(1),
      a(1000 * wholeS, 3),
      a(cost.commands, 2),
      a(cost.networkBytes, 0),
      a(cost.memoryBytes, 0),
      a(cost.fileBytes, 0),
      micro.map((ms) => a(1000 * ms, 0)).join(' / '),
    ]);
  };
  const { seconds, cost } = idle;
  const often = figures.at(-1)?.cost.often ?? [];
  const last = figures.at(-1)?.recipients ?? 1;
  return [
    ...head(columns),
    ...figures.map(each),
    '',
    `Idle: ${(cost.commands / seconds).toFixed(0)} commands per second, ${(sum(cost.nodeMs) / seconds).toFixed(0)} ms of CPU per second in Redis, ${((cost.processMs['workers'] ?? 0) / seconds).toFixed(0)} ms in the workers.`,
    `Most frequent commands per recipient: ${often.map(([name, calls]) => `${name} ${(calls / last).toFixed(2)}`).join(', ')}.`,
  ];
}

/** The CPU use of each process during the largest run, in cores. */
export function limitRows(figures: readonly SizeFigures[], { workers }: SettingOptions): string[] {
  const { wholeS = 1, cost, recipients = 0 } = figures.at(-1) ?? {};
  if (cost === undefined) return [];
  const cores = (ms: number): string => (ms / 1000 / wholeS).toFixed(2);
  const { workers: worked = 0, service = 0, importer = 0 } = cost.processMs;
  return [
    ...head([`cores in use, ${grouped.format(recipients)} recipients`, 'together', 'each']),
    row(['Redis nodes', cores(sum(cost.nodeMs)), cost.nodeMs.map(cores).join(', ')]),
    row([`${workers} workers`, cores(worked), cores(worked / workers)]),
    row(['service (simulator)', cores(service), cores(service)]),
    row(['importer', cores(importer), cores(importer)]),
  ];
}

/** The cost of each campaign with one recipient. */
export function campaignRows(figures: readonly CampaignsFigures[]): string[] {
  const columns = [
    'campaigns of one / lanes / concurrent enqueues',
    'enqueued per second',
    'Redis commands each',
    'memory bytes each',
    'accepted after, s',
    'ended after, s',
    'commands each, from claim to end',
    'status / list of 50 / list of all / find / lanes, ms',
    'largest worker, MB',
  ];
  return [
    ...head(columns),
    ...figures.map(
      ({ campaigns, lanes, atATime, enqueueS, enqueue, asking, acceptedS, endedS, send, residentBytes }) =>
        row([
          `${grouped.format(campaigns)} / ${lanes} / ${atATime}`,
          (campaigns / enqueueS).toFixed(0),
          (enqueue.commands / campaigns).toFixed(1),
          (enqueue.memoryBytes / campaigns).toFixed(0),
          acceptedS.toFixed(1),
          endedS.toFixed(1),
          (send.commands / campaigns).toFixed(1),
          [asking.status, asking['list of 50'], asking['list of all'], asking.find, asking.lanes]
            .map((ms) => ms.toFixed(0))
            .join(' / '),
          (residentBytes / 1e6).toFixed(0),
        ]),
    ),
    '',
    ...figures.map(({ campaigns, lanes, enqueue, send }) =>
      [
        `${lanes} lanes, enqueue: ${enqueue.often.map(([name, calls]) => `${name} ${(calls / campaigns).toFixed(1)}`).join(', ')}.`,
        `${lanes} lanes, claim to end: ${send.often.map(([name, calls]) => `${name} ${(calls / campaigns).toFixed(1)}`).join(', ')}.`,
      ].join('\n'),
    ),
  ];
}
