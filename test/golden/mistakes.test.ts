import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { at, CONTRACT } from '../call-records/contract/contract.js';
import type { CommandLine } from '../scene/command-line.js';
import { scene } from '../scene/scene.js';
import { AT_FIRST, COMMANDS, PIPED, SENDING, WITH_ACCOUNT } from './mistakes.js';
import { transcriptOf } from './transcript.js';

const { redis, shell, storedKeys, write, folder: cwd } = scene('golden-mistakes');
const rows = (count: number, row: (at: number) => string) =>
  Array.from({ length: count }, (_, at) => row(at));
const list = (...lines: readonly string[]) => `name,phone\nAnna,+447700900101\n${lines.join('\n')}\n`;
const client = { id: 'a', secret: 'b' };
const FILES: Readonly<Record<string, string | object>> = {
  'list.csv': list(),
  'messy.csv': list('Bo,+44 12', 'Cy,', ',07700 900102'),
  'many.csv': list(...rows(30, (line) => `Bo ${line},+44 12${line}`)),
  'national.csv': list(...rows(323, (line) => `Bo,07700 900${100 + line}`), 'Cy,someone'),
  'bad.csv': 'phone\n12\n13\n',
  'numbers.csv': '+447700900109\n',
  'empty.csv': '',
  'broken.json': '{"apiKey":',
  'elsewhere.json': { apiKey: 'a', baseUrl: 'https://other.example' },
  'unset.json': { apiKeyEnv: 'NOT_SET' },
  'product.json': { profile: 'v3', client },
  'quota.json': { profile: 'v3', client: { ...client, product: 'c' }, hourlyQuota: 0 },
  'misspelled.json': { apiKey: 'a', hourlyQouta: 5 },
  'keyless.json': { hourlyQuota: 5 },
  'contract.json': at(CONTRACT, 'http://127.0.0.1:9'),
};
for (const [name, content] of Object.entries(FILES)) write(name, content);
const without = shell();
const withAccount = shell({
  ...{ SENDER_ADDRESS: 'ACME', API_KEY: 'k', MESSAGING_BASE_URL: 'http://127.0.0.1:9/v1' },
  ...{ SECRETS_KEY: 'a'.repeat(64), RECORDS_CONTRACT: `${cwd}/contract.json` },
});

/** Everything that is stored: each key with a digest of its value. */
async function stored(): Promise<string[]> {
  const names = (await storedKeys(/./)).sort();
  const dumps = await Promise.all(names.map((name) => redis.dumpBuffer(name)));
  const digestOf = (dump: Buffer | null | undefined) =>
    createHash('sha256')
      .update(dump ?? '')
      .digest('hex');
  return names.map((name, at) => `${name} ${digestOf(dumps[at])}`);
}

/** The words of a command line; those with spaces are quoted. */
const words = (line: string): string[] =>
  [...line.matchAll(/(?<=^| )"([^"]*)"|\S+/g)].map(([word, quoted]) => quoted ?? word);

test('What the command line says about a mistake is that in mistakes.txt, and nothing is stored', {
  timeout: 240_000,
}, async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void taken.close());
  await once(taken, 'listening');
  const port = String((taken.address() as AddressInfo).port);
  const texts: string[] = [];
  /** Those that exit with another code, or store something. */
  const accepted: string[] = [];
  const refused = async (cli: CommandLine, cases: readonly (readonly [input: string, line: string])[]) => {
    const { piped, text } = transcriptOf(cli, {
      [cwd]: '.',
      [process.cwd()]: '<package>',
      [port]: '<taken port>',
    });
    let before = await stored();
    for (const [input, line] of cases) {
      const { exit } = await piped(input, ...words(line));
      const after = await stored();
      const changed = after.filter((key) => !before.includes(key));
      if (exit !== 2 || changed.length > 0 || after.length < before.length)
        accepted.push(`${line}: exit code ${exit}; changed: ${changed.join(', ')}`);
      before = after;
    }
    texts.push(text());
  };
  const typed = (lines: readonly string[]) => lines.map((line) => ['', line] as const);

  // It stores the name of the lane.
  await without.volley('lanes');
  await refused(without, typed(AT_FIRST));
  for (const name of ['Spring', 'spring'])
    await withAccount.volley('send', 'list.csv', '-m', name, '--name', name, '--yes');
  await withAccount.volley('cancel', 'last', '--yes');
  await withAccount.volley('outbox', 'create', 'dentist', '-m', 'Hi {{name}}');
  await refused(without, typed([...COMMANDS, ...SENDING, `simulator --port ${port}`]));
  await refused(withAccount, [...typed(WITH_ACCOUNT), ...PIPED]);
  expect(accepted).toEqual([]);
  await expect(texts.join('\n')).toMatchFileSnapshot('files/mistakes.txt');
});
