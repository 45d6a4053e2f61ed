import type { WaitingFilter, WaitingPage } from '../../src/intake/outbox/views/list-waiting.js';
import type { MessageFilter } from '../../src/intake/outbox/views/scan-messages.js';
import { grouped, say, withBench } from './bench.js';
import { firstOf, LIST, messageAt, timedMessages } from './messages.js';

/** How long changes of the settings, lists, scans, and a cancel take when `count` messages wait. */
export async function set(count: number): Promise<void> {
  await withBench(async ({ volley, memory, spent }) => {
    const name = 'timed';
    await volley.outboxes.create({ name, message: 'Hi {{name}}', sendRule: 'when', zone: 'Europe/London' });
    const outbox = volley.outbox(name);
    const empty = await memory();
    const list = timedMessages(count);
    for (let from = 0; from < count; from += LIST)
      for await (const _ of outbox.putAll(firstOf(list, LIST))) void _;
    const bytes = async (): Promise<string> => (((await memory()) - empty) / count).toFixed(1);
    const before = await bytes();
    const timed = async (what: string, run: () => Promise<string>): Promise<void> => {
      const own = process.cpuUsage();
      const began = performance.now();
      let found = '';
      const cost = await spent(async () => {
        found = await run();
      });
      const seconds = (performance.now() - began) / 1_000;
      const client = process.cpuUsage(own);
      say(
        'set',
        `${what}: ${seconds.toFixed(3)} s; CPU: client ${grouped((client.user + client.system) / 1e3)} ms, Redis ${grouped(cost.redisMs)} ms; ${found}`,
      );
    };
    say('set', `${grouped(count)} messages of ${before} bytes`);
    const rule = { sendRule: 'when - 1h' };
    await timed('preview of another rule', async () => JSON.stringify(await outbox.previewSet(rule)));
    await timed(
      'another rule',
      async () => `${(await outbox.set(rule)).moved} moved; ${await bytes()} bytes each`,
    );
    await timed(
      'another text',
      async () => `${(await outbox.set({ message: 'Hello {{name}}' })).waiting} wait`,
    );
    await timed('a text with a value that all lack', async () => {
      const change = { message: 'Hello {{name}} {{title}}' };
      await outbox.set(change, { values: { title: 'Dr' } });
      return `${await bytes()} bytes each`;
    });
    const middle = Math.floor(count / 2);
    const { to, sendAt } = await outbox.message(messageAt(middle).id);
    const due = Date.parse(sendAt ?? '');
    const listed = (what: string, filter: WaitingFilter): Promise<void> =>
      timed(`list, ${what}`, async () => {
        let [pages, found, longest] = [0, 0, 0];
        for (let cursor: string | null | undefined; cursor !== null && found === 0; ) {
          const from = performance.now();
          const page: WaitingPage = await outbox.waiting({ ...filter, cursor });
          longest = Math.max(longest, performance.now() - from);
          found += page.messages.length;
          cursor = page.nextCursor;
          pages += 1;
        }
        return `${found} found in ${pages} pages, of which the longest took ${longest.toFixed(0)} ms`;
      });
    await listed('the first', {});
    await listed('due in one minute, in the middle', { from: due, until: due + 60_000 });
    await listed('a number, in the middle', { to: to ?? '' });
    await listed('a number and its time', { to: to ?? '', from: due, until: due + 60_000 });
    await listed('a reference, in the middle', { reference: `ref-${middle}` });
    await listed('a number that nothing is for', { to: '+447999999999' });
    const scanned = (what: string, filter: MessageFilter, most: number): Promise<void> =>
      timed(`scan, ${what}`, async () => {
        let [pages, found, longest] = [0, 0, 0];
        for (let cursor: string | null | undefined; cursor !== null && pages < most; pages += 1) {
          const from = performance.now();
          const page = await outbox.messages({ ...filter, limit: 500, cursor });
          longest = Math.max(longest, performance.now() - from);
          found += page.messages.length;
          cursor = page.nextCursor;
        }
        return `${found} found in ${pages} pages, of which the longest took ${longest.toFixed(0)} ms`;
      });
    await scanned('a page', {}, 1);
    await scanned('100 pages', {}, 100);
    await scanned('a state that none has', { state: 'rejected' }, Number.POSITIVE_INFINITY);
    await scanned('a reference', { reference: `ref-${middle}` }, Number.POSITIVE_INFINITY);
    await scanned('a number', { to: to ?? '' }, Number.POSITIVE_INFINITY);
    await timed('cancel by a reference', async () => {
      const results: string[] = [];
      for await (const { outcome } of outbox.cancelSome({ reference: `ref-${middle}` }))
        results.push(outcome);
      return results.join(', ');
    });
  });
}
