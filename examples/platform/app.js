// A shop texts its customers that their orders are ready, and stores the delivery status of each message.
//
//   npx volley up --simulator                                # in another terminal; sends no real messages
//   export VOLLEY_KEY=$(npx volley keys create --name shop --scope send,read)
//   node examples/platform/app.js                            # VOLLEY_URL: the address of the API, default this machine
//
// If you copy it to a folder of its own, run `npm install` there first.
//
// You can kill it at any time and start it again. The campaign is not created twice, because every attempt uses the same
// Idempotency-Key. No event is missed, because the id of the last event is saved together with its effect.
import { readFile, rename, writeFile } from 'node:fs/promises';
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
      recipients: orders.map(({ phone, ...order }) => ({ to: phone, ...order })),
    },
    'ready-2030-05-01',
  );
  console.log(`campaign ${id} ${existing ? 'exists already' : 'created'}`);
  shop.campaign = id;
  await save();
}

if (!shop.isCompleted) {
  for await (const { id, type, campaign } of volley.events(shop.lastEvent)) {
    // After a gap, events are missing, but the status of the campaign is always correct.
    if (type === 'gap') shop.isCompleted = (await volley.campaign(shop.campaign)).endedAt !== null;
    if (type === 'campaign.completed' && campaign === shop.campaign) shop.isCompleted = true;
    shop.lastEvent = id;
    await save();
    if (campaign === shop.campaign) console.log(type);
    if (shop.isCompleted) break;
  }
}

// The report has the order of the list, so the messages to one number are in the order of its orders.
const waiting = [...orders];
for await (const { recipient, status } of volley.report(shop.campaign)) {
  const at = waiting.findIndex(({ phone }) => phone.replaceAll(' ', '') === recipient);
  const [order] = waiting.splice(at, 1);
  shop.statuses[order.order] = status;
}
await save();
console.log(JSON.stringify(shop.statuses));

/** A new shop starts with the id `0-0`, before all stored events. */
async function load() {
  const text = await readFile(SHOP_FILE, 'utf8').catch(() => '{"lastEvent":"0-0","statuses":{}}');
  return JSON.parse(text);
}

/** Replaces the file in one step, so a kill leaves either the old or the new content. */
async function save() {
  await writeFile(`${SHOP_FILE}.new`, JSON.stringify(shop));
  await rename(`${SHOP_FILE}.new`, SHOP_FILE);
}
