import { expect, test } from 'vitest';
import { keyNames } from '../../../../src/base/redis/keys.js';
import { parseClosed } from '../../../../src/engine/lane/closed.js';
import { scene } from '../../../scene/scene.js';

const { lanesFile, prefix, redis, shell, stored } = scene('doctor-restored');

/** The command line of a machine that has these lanes. */
function machineWith(...lanes: readonly string[]) {
  return shell({
    MESSAGING_BASE_URL: 'https://sms.example/smsmessaging/v1',
    LANES_FILE: lanesFile(lanes),
  });
}

const heldOf = async (id: string): Promise<string | undefined> =>
  parseClosed((await stored(id).record())['closed']).held?.why;

test('After a backup was restored, doctor holds each lane that is configured, registered, or has data, and each can be resumed', async () => {
  const elsewhere = machineWith('a', 'b');
  for (const lane of ['a', 'b']) {
    expect((await elsewhere.volley('lane', 'hold', lane)).exit).toBe(0);
    expect((await elsewhere.volley('lane', 'resume', lane)).exit).toBe(0);
  }
  expect((await elsewhere.volley('lane', 'rename', 'b', 'shop')).exit).toBe(0);
  await redis.sadd(keyNames(prefix).lanes, 'c');

  const { json, volley } = machineWith('a', 'd');
  const { output } = await json('doctor', '--restored');
  expect(JSON.stringify(output)).toContain('a, d, shop, c: held, so nothing is sent');
  for (const id of ['a', 'b', 'c', 'd']) expect(await heldOf(id)).toMatch(/^held by /);

  for (const lane of ['a', 'd', 'shop', 'c']) expect((await volley('lane', 'resume', lane)).exit).toBe(0);
  for (const id of ['a', 'b', 'c', 'd']) expect(await heldOf(id)).toBeUndefined();
});
