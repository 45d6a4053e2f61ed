// Sends a newsletter each Monday at nine: a worker that reads the list of each occurrence from your own data.
//
//   node examples/library/newsletter.js
//
// Settings come from the environment, see .env.example. It runs until Ctrl-C. Run it in as many processes as you like, and stop any of
// them at any time: each Monday creates one campaign. `volley schedule run newsletter` sends one now.
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { createVolley, loadConfig } from 'volley';

const subscribers = new URL('./subscribers.jsonl', import.meta.url);
const volley = createVolley({ config: loadConfig(process.env) });

// Volley calls this for each occurrence; `at` is when it was due. Rows are read while they are imported.
volley.schedules.provide('subscribers', async function* ({ at }) {
  for await (const line of createInterface({ input: createReadStream(subscribers) })) {
    const { phone, name, since } = JSON.parse(line);
    if (new Date(since) <= at) yield { to: phone, name };
  }
});

// Tell operators what became of each occurrence. After three failures in a row, the schedule is paused.
volley.events.on('schedule.ran', ({ campaign }) => console.log(`campaign ${campaign} created`));
volley.events.on('schedule.failed', ({ reason }) => console.error(`nothing was sent: ${reason}`));
volley.events.on('schedule.paused', ({ reason }) => console.error(`the newsletter needs you: ${reason}`));

const working = volley.work();
await working.ready;

// Adding the same schedule again changes nothing.
const { outcome, next } = await volley.schedules.add({
  id: 'newsletter',
  recipients: { provided: 'subscribers' },
  cron: '0 9 * * 1',
  zone: 'Europe/London',
  sender: 'MARKET',
  message: 'Hi {{name}}, the market opens at ten.',
});
console.log(`${outcome}, next on ${next}`);

for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, stop);

async function stop() {
  await working.drain(); // settles requests in flight first
  await volley.close();
}
