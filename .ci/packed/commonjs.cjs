// A CommonJS program that uses the installed package.
const { createVolley, loadConfig } = require('volley');
const { createHttp } = require('volley/http');
const { createMetrics } = require('volley/metrics');

if (typeof createHttp !== 'function' || typeof createMetrics !== 'function')
  throw new Error('an entry is empty');

async function main() {
  const volley = createVolley({ config: loadConfig(process.env) });
  const outcome = await volley.enqueue({
    recipients: [{ to: '+447700900125', name: 'Edsger' }],
    sender: 'ACME',
    message: 'Hi {{name}}',
  });
  const { state } = await volley.finished(outcome.id);
  await volley.close();
  if (state !== 'completed') throw new Error(`the campaign is ${state}`);
}

main();
