// Reminds the patients of a clinic a day before their appointments, and lists those to call.
//
//   node examples/library/reminders.js [appointments.jsonl]
//
// Settings come from the environment, see .env.example. The program stores a reminder for each line of the file, and sends what
// is due until you stop it with Ctrl-C. Run it again after each change of the file: a moved appointment has a higher version, and
// nothing is sent twice.
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { createVolley, loadConfig } from 'volley';

const [file = new URL('./appointments.jsonl', import.meta.url)] = process.argv.slice(2);
const stop = new AbortController();
process.once('SIGINT', () => stop.abort());

const volley = createVolley({ config: loadConfig(process.env) });
const working = volley.work(); // or run workers in other processes: volley work
// Volley emits an event for everything that happens. Show operators the ones they must act on.
volley.events.on('lane.stopped', ({ lane, reason }) =>
  console.error(`lane ${lane} needs an operator: ${reason}`),
);

try {
  // Creating it again with the same settings changes nothing.
  await volley.outboxes.create({
    name: 'clinic',
    sender: 'CLINIC',
    message: 'Dear {{name}}, we expect you on {{day}} at {{time}}.',
    sendRule: 'appointment - 1d', // the same time on the day before, also when the clocks change in between
    zone: 'Europe/London',
    late: '6h', // a reminder not sent within six hours is useless
  });
  const outbox = volley.outbox('clinic');
  for await (const line of createInterface({ input: createReadStream(file) })) {
    const appointment = JSON.parse(line);
    console.log(`${appointment.id}: ${await remind(outbox, appointment)}`);
  }
  await results();
} finally {
  await working.drain(); // settles requests in flight first
  await volley.close();
}

/** Stores, changes, or cancels the reminder of an appointment. It has the id of the appointment. */
async function remind(outbox, { id, version, cancelled, phone, name, appointment }) {
  try {
    if (cancelled) return (await outbox.cancel(id, { version })).outcome;
    const [day, time] = appointment.split('T');
    const { outcome, sendAt } = await outbox.put({ id, version, to: phone, appointment, name, day, time });
    return sendAt === null ? outcome : `${outcome}, due at ${sendAt}`;
  } catch (error) {
    return `left out: ${error.message}`; // a number that is not valid, a time that is over, or it was sent already
  }
}

/** Says which reminders did not arrive. A program with a database would also store `nextCursor`, and continue there. */
async function results() {
  let cursor;
  while (!stop.signal.aborted) {
    const {
      results: page,
      nextCursor,
      hasMore,
    } = await volley.results({ cursor }).catch((error) => {
      if (error.statusCode !== 503) throw error;
      return { results: [], nextCursor: cursor, hasMore: false }; // Redis does not respond: ask again
    });
    for (const { message, status, reason } of page) {
      if (status === 'deliveredToTerminal') console.log(`${message}: delivered`);
      else if (status !== 'cancelled') console.log(`${message}: call the patient (${reason || status})`);
    }
    cursor = nextCursor;
    if (!hasMore) await delay(1_000, undefined, { signal: stop.signal }).catch(() => {});
  }
}
