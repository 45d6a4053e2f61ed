// A shop tells its customers that their orders can be fetched, and keeps for each order what became of the text.
//
//   npx volley up --simulator                                # in another terminal; no text is sent
//   export VOLLEY_KEY=$(npx volley keys create --name shop --scope send,read)
//   node examples/platform/app.js                            # VOLLEY_URL: where the API is, default this machine
//
// In a folder of its own it needs `npm install` first.
//
// It may be killed at any moment and started again: the campaign is not made twice, because it is asked for with the
// same Idempotency-Key; and no event is missed, because the id of the last one is kept together with what it changed.
import { readFile, rename, writeFile } from 'node:fs/promises';
import { connectVolley } from './volley.js';

const { VOLLEY_URL = 'http://127.0.0.1:8080', VOLLEY_KEY, SHOP_FILE = 'shop.json' } = process.env;
if (!VOLLEY_KEY) throw new Error('VOLLEY_KEY is not set: volley keys create --name shop --scope send,read');

const volley = connectVolley(VOLLEY_URL, VOLLEY_KEY);
const orders = JSON.parse(await readFile(new URL('./orders.json', import.meta.url), 'utf8'));
const shop = await load();

// The orders of a day are one campaign. The key is the day's, so that the day cannot have two.
if (shop.campaign === undefined) {
  const { id, existing } = await volley.createCampaign(
    {
      name: 'ready to fetch',
      sender: 'SHOP',
      message: 'Hi {{name}}, order {{order}} is on shelf {{shelf}}.',
      recipients: orders.map(({ phone, ...order }) => ({ to: phone, ...order })),
    },
    'ready-2030-05-01',
  );
  console.log(`campaign ${id} ${existing ? 'was there already' : 'made'}`);
  shop.campaign = id;
  await save();
}

if (!shop.isOver) {
  for await (const { id, type, campaign } of volley.events(shop.lastEvent)) {
    // What Volley does not keep any more is not told; how the campaign stands says it all the same.
    if (type === 'gap') shop.isOver = (await volley.campaign(shop.campaign)).endedAt !== null;
    if (type === 'campaign.completed' && campaign === shop.campaign) shop.isOver = true;
    shop.lastEvent = id;
    await save();
    if (campaign === shop.campaign) console.log(type);
    if (shop.isOver) break;
  }
}

for await (const { recipient, status } of volley.report(shop.campaign)) {
  const order = orders.find(({ phone }) => phone.replaceAll(' ', '') === recipient);
  shop.told[order.order] = status;
}
await save();
console.log(JSON.stringify(shop.told));

/** `0-0` comes before every event: at first it hears of everything that is kept. */
async function load() {
  const text = await readFile(SHOP_FILE, 'utf8').catch(() => '{"lastEvent":"0-0","told":{}}');
  return JSON.parse(text);
}

/** Whole or not at all: a kill in the middle leaves what was there before. */
async function save() {
  await writeFile(`${SHOP_FILE}.new`, JSON.stringify(shop));
  await rename(`${SHOP_FILE}.new`, SHOP_FILE);
}
