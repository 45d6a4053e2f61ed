// Reminds customers of tomorrow's appointments: sends rows from your own data, waits, and reports each delivery.
//
//   node examples/library/reminders.js 2030-05-01
//
// Settings come from the environment, see .env.example. Running it twice for the same day creates only one campaign.
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { createVolley, loadConfig } from 'volley';

const tomorrow = new Date(Date.now() + 24 * 3_600_000).toISOString().slice(0, 10);
const [day = tomorrow] = process.argv.slice(2);
const appointments = new URL('./appointments.jsonl', import.meta.url);

// Rows are read while they are imported, so the list may be larger than memory.
async function* recipients() {
  for await (const line of createInterface({ input: createReadStream(appointments) })) {
    const { phone, name, time } = JSON.parse(line);
    yield { to: phone, name, day, time };
  }
}

const volley = createVolley({ config: loadConfig(process.env) });
const working = volley.work(); // or run workers in other processes: volley work

// Volley emits an event for everything that happens. Show operators the ones they must act on.
volley.events.on('lane.stopped', ({ lane, reason }) =>
  console.error(`lane ${lane} needs an operator: ${reason}`),
);

// Ctrl-C ends only the waiting. Running workers continue the campaign.
const interrupted = new AbortController();
process.once('SIGINT', () => interrupted.abort());

try {
  const outcome = await volley.enqueue({
    recipients: recipients(),
    sender: 'CLINIC',
    message: 'Dear {{name}}, we expect you on {{day}} at {{time}}.',
    name: `reminders ${day}`,
    idempotencyKey: `reminders-${day}`,
    validForMs: 12 * 3_600_000, // a reminder not sent within twelve hours is useless
    skipInvalid: true,
    onInvalid: ({ line, reason }) => console.log(`line ${line} is left out: ${reason}`),
  });
  switch (outcome.kind) {
    case 'created':
    case 'existing':
      await follow(outcome.id);
      break;
    default:
      throw new Error(`nothing was sent: ${outcome.kind}`);
  }
} finally {
  await working.drain(); // settles requests in flight first
  await volley.close();
}

async function follow(id) {
  let said = '';
  const say = (text) => {
    if (text !== said) console.error(text);
    said = text;
  };
  const status = await volley.finished(id, {
    signal: interrupted.signal,
    onProgress: ({ recipients: { planned, total } }) => say(`${total - planned} of ${total} sent`),
  });
  const { total, deliveredToTerminal } = status.recipients;
  console.log(`${status.name}: ${deliveredToTerminal} of ${total} delivered`);
  for await (const { recipient, status: what, reason } of volley.report(id)) {
    if (what !== 'deliveredToTerminal') console.log(`call ${recipient}: ${reason || what}`);
  }
}
