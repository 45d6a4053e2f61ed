import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { obtainServer, type ServerOptions } from '../../../src/base/redis/find-server.js';

let folder: string;
let lines: string[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'volley-programs-'));
  lines = [];
  onTestFinished(() => rmSync(folder, { recursive: true }));
});

function program(name: string, text: string): void {
  writeFileSync(join(folder, name), `#!/bin/sh\n${text}\n`);
  chmodSync(join(folder, name), 0o755);
}

/** A machine with a package manager, which records its calls, and no Redis. */
function machineWithApt(): void {
  program(
    'apt-get',
    `echo "$@" >>${folder}/log; case "$1" in install) cp ${folder}/apt-get ${folder}/redis-server;; esac`,
  );
}

const obtain = (options: Partial<ServerOptions>): Promise<string> =>
  obtainServer({
    install: false,
    installer: 'volley up --install',
    announce: (line) => lines.push(line),
    folders: [folder],
    isRoot: true,
    ...options,
  });

test('A server that is already there is used, and nothing is installed', async () => {
  machineWithApt();
  program('valkey-server', '');
  expect(await obtain({ install: true })).toBe(join(folder, 'valkey-server'));
  expect(existsSync(join(folder, 'log'))).toBe(false);
});

test('Nothing is installed unless it is asked for, even as root', async () => {
  machineWithApt();
  await expect(obtain({})).rejects.toThrow(
    'There is no Redis on this machine: install it with `apt-get install redis-server`, run `volley up --install`, or set REDIS_URL.',
  );
  expect(existsSync(join(folder, 'log'))).toBe(false);
  expect(lines).toEqual([]);
});

test('A server is installed if it is asked for', async () => {
  machineWithApt();
  expect(await obtain({ install: true })).toBe(join(folder, 'redis-server'));
  expect(lines).toEqual(['There is no Redis on this machine: installing one with apt-get.']);
  expect(readFileSync(join(folder, 'log'), 'utf8')).toMatch(/^update .*\ninstall -y .*redis-server\n$/);
});

test('Without root, the error names the command that needs it', async () => {
  machineWithApt();
  await expect(obtain({ install: true, isRoot: false })).rejects.toThrow(
    'There is no Redis on this machine: install it with `sudo apt-get install redis-server`, or set REDIS_URL.',
  );
  expect(existsSync(join(folder, 'log'))).toBe(false);
});

test('Without a package manager, the error names the programs', async () => {
  await expect(obtain({ install: true })).rejects.toThrow(
    'There is no Redis on this machine: install redis-server or valkey-server, or set REDIS_URL.',
  );
});
