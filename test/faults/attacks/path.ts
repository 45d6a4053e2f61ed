import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { IN_FLIGHT } from '../../../src/engine/scripts/rules.js';
import { recipients } from '../../end-to-end/recipients.js';
import type { Attack } from './attack.js';
import { followResults } from './results-platform.js';
import { usageProblems } from './usage.js';

const RECIPIENTS = 150;

/** Follows one campaign after another from a CSV file to the report, while the process that sends is killed. */
export const path: Attack = {
  name: 'path',
  promise:
    'A campaign from a CSV file sends to no recipient twice, although the process that sends is killed, and its report and the results say what became of each',
  times: { of: 'campaigns with a kill each', brief: 1, long: 20 },
  seed: 2026,
  fleet: () => ({
    workers: ['send', 'follow-up'],
    simulator: { keys: [{ key: 'key' }], deliveryTime: 100, latency: 100 },
  }),
  async run({ fleet: { volley, members }, recorder, random, times, kill, traffic, settled, expect }) {
    const folder = await mkdtemp(join(tmpdir(), 'volley-path-'));
    const [sender] = members;
    if (sender === undefined) throw new Error('no process sends');
    const platform = followResults(volley, random);
    let unknown = 0;
    try {
      // A kill while nothing is in flight shows nothing. On a busy machine, several may.
      for (let at = 0; at < times || (unknown === 0 && at < times + 5); at += 1) {
        const file = join(folder, `${at}.csv`);
        const numbers = [...recipients(RECIPIENTS)].map(({ to }) => to);
        await writeFile(file, ['to', ...numbers].join('\n'));
        const [key, text] = ['key', `Sale ${at}`];
        const outcome = await volley.enqueue({ recipients: file, message: text });
        if (outcome.outcome !== 'created') throw new Error(`the import was ${outcome.outcome}`);
        const { id } = outcome;
        recorder.launched({ campaign: id, key, text, recipients: numbers });
        await traffic();
        await kill(sender);
        // An operator decides what becomes of the requests that were in flight.
        const isOpen = async (): Promise<boolean> => {
          const status = await recorder.status(id);
          return status?.endedAt === null && status.waitingFor !== 'resolve';
        };
        while (await isOpen()) await delay(100);
        const { counts } = await volley.status(id);
        expect(counts.unknown <= IN_FLIGHT, `${counts.unknown} outcomes are unknown after a kill`);
        unknown += counts.unknown;
        if (counts.unknown > 0)
          await recorder.command(id, 'accepted', () => volley.resolve(id, { as: 'accepted' }));
      }
      await settled();
      const { problems, learned } = await platform.stop(recorder.watched);
      for (const what of problems) expect(false, `results: ${what}`);
      for (const what of await usageProblems(volley)) expect(false, what);
      return { resolved: unknown, learned };
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
};
