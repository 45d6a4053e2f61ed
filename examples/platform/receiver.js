// Receives the webhooks of Volley: verifies each request, stores its results, and ignores repeated ones.
//
//   npm install standardwebhooks
//   export WEBHOOK_SECRET=$(npx volley webhook add http://127.0.0.1:3000/volley)     # needs WEBHOOK_ALLOW=127.0.0.1 for this machine
//   node examples/platform/receiver.js                                               # PORT: default 3000
//
// You can kill it at any time and start it again: Volley repeats what was not answered, with the same id, and a state that is stored
// together with the ids is never applied twice.
import { readFile, rename, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { Webhook, WebhookVerificationError } from 'standardwebhooks';

const { WEBHOOK_SECRET, PORT = '3000', RESULTS_FILE = 'results.json' } = process.env;
if (!WEBHOOK_SECRET) {
  console.error('WEBHOOK_SECRET is not set. `volley webhook add` and `volley webhook rotate` print it once.');
  process.exit(2);
}

const verifier = new Webhook(WEBHOOK_SECRET);
const stored = await load();
// A database would keep each id for some days. Volley may repeat a request for as long as it keeps the results.
const processed = new Set(stored.processed);
let saving = Promise.resolve();

const server = createServer(async (request, response) => {
  try {
    const body = await text(request);
    // Throws if the signature is wrong, or the request is more than five minutes old.
    const event = verifier.verify(body, request.headers);
    await store(request.headers['webhook-id'], event);
    response.writeHead(204).end();
  } catch (error) {
    const isForged = error instanceof WebhookVerificationError;
    if (!isForged) console.error(error);
    response.writeHead(isForged ? 401 : 500).end();
  }
});
server.listen(Number(PORT), '127.0.0.1', () => {
  console.log(`Receiving webhooks at http://127.0.0.1:${server.address().port}/volley`);
});

/** Resolves when the event is stored: only then may the response say so. */
function store(id, { type, data }) {
  if (type === 'recipients.settled' && !processed.has(id))
    for (const { campaign, message, reference, to, status } of data.results)
      stored.statuses[message ?? reference ?? `${campaign} ${to}`] = status;
  stored.processed = [...processed.add(id)];
  // A repeated request writes again: its first write may have failed.
  saving = saving.catch(() => {}).then(save);
  return saving;
}

async function load() {
  const saved = await readFile(RESULTS_FILE, 'utf8').catch(() => undefined);
  return saved === undefined ? { processed: [], statuses: {} } : JSON.parse(saved);
}

/** Replaces the file in one step, so a kill leaves either the old or the new content. */
async function save() {
  await writeFile(`${RESULTS_FILE}.new`, JSON.stringify(stored));
  await rename(`${RESULTS_FILE}.new`, RESULTS_FILE);
}
