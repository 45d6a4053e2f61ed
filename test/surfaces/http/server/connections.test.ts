import { once } from 'node:events';
import Fastify from 'fastify';
import { expect, onTestFinished, test } from 'vitest';
import { onClose } from '../../../../src/surfaces/http/server/connections.js';

test('A response may have any number of listeners for its end, and Node warns of none', async () => {
  const app = Fastify();
  onTestFinished(() => app.close());
  const closed: number[] = [];
  app.get('/', async (request, reply) => {
    for (let at = 0; at < 20; at += 1) onClose(request, reply, () => closed.push(at));
    return 'done';
  });
  const warnings: string[] = [];
  const note = (warning: Error): void => void warnings.push(warning.name);
  process.on('warning', note);
  onTestFinished(() => void process.off('warning', note));
  const address = await app.listen({ host: '127.0.0.1', port: 0 });
  const response = await fetch(address);
  expect(await response.text()).toBe('done');
  await expect.poll(() => closed.length).toBe(20);
  // Warnings are emitted in the order of their cause, so this one comes last.
  process.emitWarning('last', 'LastWarning');
  await once(process, 'warning');
  expect(warnings).toEqual(['LastWarning']);
});
