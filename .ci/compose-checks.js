/*
 * What .ci/compose checks over HTTP: node compose-checks.js ORIGIN ACTION …
 *   ready                             the HTTP API answers
 *   link LINK                         the link leads to the console
 *   until ID CONDITION                the counts of the campaign meet the condition
 *   accounted ID TOTAL REPORT LEDGER  every recipient is in one state, and the simulator got no message twice
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';

const [origin, action, ...args] = process.argv.slice(2);
const WITHIN_MS = 400_000;

/** A server that does not answer has failed. */
const get = (path, headers = {}) => fetch(path, { headers, signal: AbortSignal.timeout(30_000) });

async function eventually(isTrue, what) {
  const until = Date.now() + WITHIN_MS;
  let last = '';
  while (Date.now() < until) {
    try {
      last = await isTrue();
      if (last === true) return;
    } catch (error) {
      last = error.message;
    }
    await new Promise((done) => setTimeout(done, 250));
  }
  throw new Error(`not ${what} within ${WITHIN_MS} ms: ${last}`);
}

async function countsOf(id) {
  const response = await get(`${origin}/v1/campaigns/${id}`, {
    authorization: `Bearer ${process.env['VOLLEY_KEY']}`,
  });
  assert.equal(response.status, 200, await response.clone().text());
  const { total, ...counts } = (await response.json()).counts;
  return { total, counts };
}

const ACTIONS = {
  ready: () => eventually(async () => (await get(`${origin}/readyz`)).ok, 'ready'),

  async link(link) {
    assert.ok(link.startsWith(`${origin}/console/#signin=`), link);
    assert.equal((await get(link)).status, 200);
  },

  until: (id, condition) =>
    eventually(async () => {
      const { counts } = await countsOf(id);
      const isMet = new Function(...Object.keys(counts), `return ${condition}`);
      return isMet(...Object.values(counts)) || JSON.stringify(counts);
    }, condition),

  async accounted(id, expected, report, ledger) {
    const { total, counts } = await countsOf(id);
    assert.equal(total, Number(expected));
    assert.equal(
      Object.values(counts).reduce((sum, each) => sum + each),
      total,
    );
    const rows = readFileSync(report, 'utf8').trim().split('\n').slice(1);
    const states = new Map(rows.map((row) => row.split(',').slice(0, 2)));
    assert.deepEqual([rows.length, states.size], [total, total], 'rows and numbers of the report');
    const sent = readFileSync(ledger, 'utf8')
      .trim()
      .split('\n')
      .flatMap((line) => JSON.parse(line).recipients);
    assert.equal(new Set(sent).size, sent.length, 'no number got a message twice');
    const unsent = [...states].filter(([number]) => !sent.some((each) => each.endsWith(number.slice(1))));
    assert.ok(
      unsent.every(([, state]) => state === 'unknown'),
      `not sent: ${unsent}`,
    );
    console.log(`${total} recipients, ${sent.length} messages, 0 twice:`, JSON.stringify(counts));
  },
};

await ACTIONS[action](...args);
