// A shop texts its customers that their orders are ready, and stores the delivery status of each message.
//
//   npx volley up --simulator                                # in another terminal; sends no real messages
//   export VOLLEY_KEY=$(npx volley keys create --name shop --scope send,read)
//   node examples/platform/app.js                            # VOLLEY_URL: the address of the API, default this machine
//
// You can kill it at any time and start it again. The campaign is not created twice, because every attempt uses the same
// Idempotency-Key. No result is missed, because the cursor is saved together with the results before it.
import { readFile, rename, writeFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { connectVolley } from './volley.js';

const { VOLLEY_URL = 'http://127.0.0.1:8080', VOLLEY_KEY, SHOP_FILE = 'shop.json' } = process.env;
if (!VOLLEY_KEY) throw new Error('VOLLEY_KEY is not set: volley keys create --name shop --scope send,read');

const volley = connectVolley(VOLLEY_URL, VOLLEY_KEY);
const orders = JSON.parse(await readFile(new URL('./orders.json', import.meta.url), 'utf8'));
const shop = await load();

// One campaign a day: the idempotency key contains the date.
if (shop.campaign === undefined) {
  const { id, existing } = await volley.createCampaign(
    {
      name: 'orders ready',
      sender: 'SHOP',
      message: 'Hi {{name}}, order {{order}} is on shelf {{shelf}}.',
      // Ada has two orders and gets a message for each.
      duplicates: 'keep',
      // The results name each message by the number of its order: Ada's two messages go to the same phone.
      recipients: orders.map(({ phone, ...order }) => ({ to: phone, reference: order.order, ...order })),
    },
    'ready-2030-05-01',
  );
  console.log(`campaign ${id} ${existing ? 'exists already' : 'created'}`);
  shop.campaign = id;
  await save();
}

// Results may be repeated, for example after a kill, and an unknown one may still change.
while (orders.some(({ order }) => (shop.statuses[order] ?? 'unknown') === 'unknown')) {
  const { results, next, hasMore } = await volley.results(shop.cursor);
  const own = results.filter(({ campaign }) => campaign === shop.campaign);
  for (const { reference, status } of own) shop.statuses[reference] = status;
  shop.cursor = next;
  await save();
  for (const { reference, status } of own) console.log(`order ${reference}: ${status}`);
  if (!hasMore) await delay(500);
}
console.log(JSON.stringify(shop.statuses));

async function load() {
  const text = await readFile(SHOP_FILE, 'utf8').catch(() => '{"statuses":{}}');
  return JSON.parse(text);
}

/** Replaces the file in one step, so a kill leaves either the old or the new content. */
async function save() {
  await writeFile(`${SHOP_FILE}.new`, JSON.stringify(shop));
  await rename(`${SHOP_FILE}.new`, SHOP_FILE);
}
