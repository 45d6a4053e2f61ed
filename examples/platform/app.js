// A booking platform for restaurants: reminds guests two hours before their visit, moves and cancels reminders by the numbers of
// its bookings, and stores the outcome of each one.
//
//   npx volley up --simulator                                # in another terminal; sends no real messages
//   export VOLLEY_KEY=$(npx volley keys create --name bookings --scope send,read)
//   node examples/platform/app.js                            # VOLLEY_URL: the address of the API, default this machine
//
// You can kill it at any time and start it again. No guest is reminded twice, because every request names the booking and its
// version. No result is missed, because the cursor is saved together with the results before it.
import { readFile, rename, writeFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { connectVolley } from './volley.js';

const { VOLLEY_URL = 'http://127.0.0.1:8080', VOLLEY_KEY, BOOKINGS_FILE = 'bookings.json' } = process.env;
if (!VOLLEY_KEY) {
  console.error(
    'VOLLEY_KEY is not set. To set it: export VOLLEY_KEY=$(npx volley keys create --name bookings --scope send,read)',
  );
  process.exit(2);
}

const volley = connectVolley(VOLLEY_URL, VOLLEY_KEY);
const changes = JSON.parse(await readFile(new URL('./changes.json', import.meta.url), 'utf8'));
const platform = await load();
await save();

// Creating it again with the same settings changes nothing.
await volley.createOutbox({
  name: 'visits',
  sender: 'TABLES',
  message: 'Hi {{guest}}, your table at {{restaurant}} is booked for {{visit}}. Booking {{booking}}.',
  sendRule: 'visit - 2h',
  zone: 'Europe/London',
  late: '1h',
});

// Guests book, move, and cancel. Each change of a booking raises its version, so that a request that is repeated or late has no effect.
for (const { booking, version, cancelled, phone, visitIn, ...values } of changes) {
  if (cancelled) {
    const outcome = await volley.cancel('visits', booking, version);
    console.log(`booking ${booking}: ${outcome}`);
    if (outcome === 'cancelled') platform.statuses[booking] = 'cancelled';
  } else {
    const visit = new Date(platform.began + visitIn * 1_000).toISOString();
    const message = { to: phone, version, booking, visit, ...values };
    console.log(`booking ${booking}: ${await volley.put('visits', booking, message)}`);
    platform.statuses[booking] ??= 'waiting';
  }
}
await save();

// The results name each message by its booking: Ada's two messages go to the same phone. Results may be repeated, for example after
// a kill, and an unknown one may still change.
while (Object.values(platform.statuses).some((status) => status === 'waiting' || status === 'unknown')) {
  const { results, nextCursor, hasMore } = await volley.results(platform.cursor);
  const own = results.filter(({ outbox, message }) => outbox === 'visits' && message in platform.statuses);
  for (const { message, status } of own) platform.statuses[message] = status;
  platform.cursor = nextCursor;
  await save();
  for (const { message, status } of own) console.log(`booking ${message}: ${status}`);
  if (!hasMore) await delay(500);
}
console.log(JSON.stringify(platform.statuses));

/** The visits of the example begin two hours and some seconds after its first start, so that you need not wait for the reminders. */
async function load() {
  const text = await readFile(BOOKINGS_FILE, 'utf8').catch(() => undefined);
  return text === undefined ? { began: Date.now(), statuses: {} } : JSON.parse(text);
}

/** Replaces the file in one step, so a kill leaves either the old or the new content. */
async function save() {
  await writeFile(`${BOOKINGS_FILE}.new`, JSON.stringify(platform));
  await rename(`${BOOKINGS_FILE}.new`, BOOKINGS_FILE);
}
