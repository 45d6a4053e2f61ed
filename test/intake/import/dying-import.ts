import { connect } from '../../../src/base/redis/connection.js';
import { importCampaign } from '../../../src/intake/import/import-campaign.js';
import { importFixture, mobile } from './import-fixture.js';

/** A process to be killed in the middle of an import: its list never ends. Arguments: url, prefix, idempotency key, lease. */
const [, , url = '', prefix = '', idempotencyKey = '', lease = ''] = process.argv;
const { deps } = importFixture(connect(url), prefix);

async function* endless() {
  for (let number = 0; ; number++) {
    yield { to: mobile(number % 10_000_000), name: `Anna ${number}` };
    if (number === 60_000) {
      process.stdout.write('half way\n');
      await new Promise(() => setInterval(() => {}, 1_000));
    }
  }
}

await importCampaign(
  { ...deps, importLeaseMs: Number(lease) },
  { recipients: endless(), message: 'Hi {{name}}', idempotencyKey },
);
