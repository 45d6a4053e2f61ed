/**
 * Scale: a Redis Cluster of three nodes, 8 worker processes and 200 lanes; the cost per recipient from 10,000 to
 * 2,000,000 of them, and the cost of 10,000 campaigns with one recipient. Prints the tables of bench/README.md.
 *
 *   npm run -s bench:scale -- [--smoke] [--batch 10] [--workers 8] [--lanes 200] [--sizes 10000,100000] [--campaigns 10000]
 *
 * `--smoke` only shows within half a minute that the bench works.
 */
import { loadavg } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type CampaignsFigures, runCampaigns } from './scale/campaigns.js';
import { costBetween } from './scale/cost.js';
import { campaignRows, limitRows, sizeRows } from './scale/rows.js';
import { type Setting, startSetting } from './scale/setting.js';
import { runSize, type SizeFigures } from './scale/sizes.js';

const FULL = {
  lanes: 200,
  workers: 8,
  batch: 10,
  sizes: [10_000, 100_000, 1_000_000, 2_000_000],
  campaigns: 10_000,
};
const SMOKE = { lanes: 6, workers: 2, batch: 10, sizes: [600, 1_200], campaigns: 60 };
const CONCURRENT = 100;
const IDLE_MS = 10_000;

type Plan = typeof FULL;

const plan = readPlan();
if (typeof plan === 'string') {
  process.stderr.write(`${plan}\n`);
  process.exitCode = 2;
} else {
  await run(plan).catch((error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
    process.exitCode = 1;
  });
}

async function run({ lanes, workers, batch, sizes, campaigns }: Plan): Promise<void> {
  const began = performance.now();
  const say = (line: string): void => {
    const s = ((performance.now() - began) / 1000).toFixed(0);
    process.stderr.write(`${s} s, load ${loadavg()[0]?.toFixed(1)}: ${line}\n`);
  };
  const setting = await startSetting({ lanes, workers, batch });
  try {
    await setting.startWorkers();
    say(`${workers} workers, ${lanes} lanes, ${batch} recipients per request`);
    const figures: SizeFigures[] = [];
    let from = 0;
    for (const recipients of sizes) {
      const figure = await runSize(setting, recipients, from);
      from += recipients;
      figures.push(figure);
      say(`${recipients} recipients: ${figure.wholeS.toFixed(1)} s`);
    }
    const idle = await idleCost(setting);
    const many: CampaignsFigures[] = [];
    for (const [onLanes, atATime] of [
      [1, 1],
      [1, CONCURRENT],
      [lanes, CONCURRENT],
    ] as const) {
      const figure = await runCampaigns(setting, { campaigns, lanes: onLanes, atATime, from });
      from += campaigns;
      many.push(figure);
      say(
        `${campaigns} campaigns on ${onLanes} lanes: enqueued in ${figure.enqueueS.toFixed(1)} s, ended after ${figure.endedS.toFixed(1)} s`,
      );
    }
    const { recipients, duplicates } = await setting.fleet.simulator.summary();
    if (recipients !== from || duplicates !== 0) {
      throw new Error(
        `the service accepted ${recipients} of ${from} recipients, ${duplicates} of these twice`,
      );
    }
    say(`the service accepted each of ${from} recipients once`);
    const tables = [sizeRows(figures, idle), limitRows(figures, setting), campaignRows(many)];
    process.stdout.write(`${tables.map((rows) => rows.join('\n')).join('\n\n')}\n`);
  } finally {
    await setting.close();
  }
}

/** The cost of idle lanes and workers. */
async function idleCost(setting: Setting) {
  const before = await setting.read();
  await delay(IDLE_MS);
  return { seconds: IDLE_MS / 1000, cost: costBetween(before, await setting.read()) };
}

/** The parsed command line, or an error message. */
function readPlan(): Plan | string {
  const number = { type: 'string' } as const;
  try {
    const { values } = parseArgs({
      options: {
        smoke: { type: 'boolean', default: false },
        lanes: number,
        workers: number,
        batch: number,
        sizes: number,
        campaigns: number,
      },
    });
    const usual = values.smoke ? SMOKE : FULL;
    const whole = (name: 'lanes' | 'workers' | 'batch' | 'campaigns'): number => {
      const given = values[name];
      return given === undefined ? usual[name] : wholeNumber(name, given);
    };
    return {
      lanes: whole('lanes'),
      workers: whole('workers'),
      batch: whole('batch'),
      campaigns: whole('campaigns'),
      sizes: values.sizes?.split(',').map((size) => wholeNumber('sizes', size)) ?? usual.sizes,
    };
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function wholeNumber(name: string, given: string): number {
  if (!/^[1-9]\d{0,6}$/.test(given))
    throw new TypeError(`--${name}: ${given} must be a whole number from 1 to 9999999`);
  return Number(given);
}
