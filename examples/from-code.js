import { createVolley, loadConfig } from 'volley';

const volley = createVolley({ config: loadConfig(process.env) });
volley.events.on('lane.stopped', ({ lane, reason }) => console.error(`lane ${lane} needs you: ${reason}`));
volley.work(); // or run workers in other processes: volley work

async function* customers() {
  yield { to: '+447700900123', name: 'Ada' };
  yield { to: '+447700900124', name: 'Grace' };
}

const outcome = await volley.enqueue({
  recipients: customers(), // an array or the path of a CSV or Excel file works too
  sender: 'ACME',
  message: 'Hi {{name}}, your table is ready.',
  idempotencyKey: 'table-2030-05-01', // running it twice creates only one campaign
});
if (outcome.outcome === 'refused') throw new Error(`nothing was sent: ${outcome.message}`);

const { counts } = await volley.finished(outcome.id);
console.log(`${counts.deliveredToTerminal} of ${counts.total} delivered`);
for await (const { to, status } of volley.report(outcome.id)) console.log(to, status);

await volley.close();
