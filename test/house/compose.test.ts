import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { SETTING_NAMES, secretsInFiles } from '../../src/base/config/settings.js';

interface Service {
  readonly environment?: Readonly<Record<string, string | null>>;
  readonly secrets?: readonly string[];
  readonly networks: readonly string[];
  readonly [option: string]: unknown;
}

const text = readFileSync(new URL('../../docker-compose.yml', import.meta.url), 'utf8');
const compose: {
  services: Readonly<Record<string, Service>>;
  networks: Readonly<Record<string, { internal?: boolean } | null>>;
} = parse(text, { merge: true });
const service = (name: string): Service => {
  const found = compose.services[name];
  if (found === undefined) throw new Error(`no service ${name}`);
  return found;
};
const settingsOf = (name: string): string[] => Object.keys(service(name).environment ?? {});
/** The settings of the service's credentials, and the files that contain them. */
const CREDENTIALS = /^(API_KEY|ACCOUNT_USERNAME|ACCOUNT_PASSWORD|HTTPS_PROXY)(_FILE)?$/;

describe('The Compose file', () => {
  test.each(Object.keys(compose.services))('locks the container of %s', (name) => {
    expect(service(name)).toMatchObject({
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
      pids_limit: expect.any(Number),
      cpus: expect.any(Number),
      mem_limit: expect.stringMatching(/g/),
    });
  });

  test.each(['send', 'follow-up', 'webhooks', 'volley'])('passes every setting that %s may need', (name) => {
    const passed = new Set(
      settingsOf(name).map((setting) => setting.replace(/(KEY|PASSWORD|TOKEN)_FILE$/, '$1')),
    );
    const others = SETTING_NAMES.filter((setting) => !/^HTTP_/.test(setting));
    expect(others.filter((setting) => !passed.has(setting))).toEqual([]);
  });

  test('passes every setting of the HTTP API to it, and no credentials of the service', () => {
    const passed = settingsOf('http');
    expect(SETTING_NAMES.filter((setting) => /^HTTP_/.test(setting) && !passed.includes(setting))).toEqual(
      [],
    );
    expect(passed.filter((setting) => CREDENTIALS.test(setting))).toEqual([]);
    expect(service('http').secrets).toEqual(['redis_password', 'secrets_key', 'callback_security_token']);
    expect(service('http')['env_file']).toBeUndefined();
  });

  test('gives the simulator neither secrets nor settings, and a network of its own', () => {
    const { environment, secrets, networks, env_file: file } = service('simulator');
    expect([environment, secrets, file]).toEqual([undefined, undefined, undefined]);
    expect(networks).toEqual(['simulator']);
    expect(compose.networks['simulator']).toEqual({ internal: true });
  });

  test('gives Redis its password alone, and a network that nothing leaves', () => {
    expect(service('redis')).toMatchObject({ secrets: ['redis_password'], networks: ['redis'] });
    expect(service('redis')['ports']).toBeUndefined();
    expect(compose.networks['redis']).toEqual({ internal: true });
    const command = JSON.stringify(service('redis')['command']);
    expect(command).toContain('password=$$(cat /run/secrets/redis_password)');
    expect(command).toContain('aclfile');
    expect(readFileSync(new URL('../../docs/redis.acl', import.meta.url), 'utf8')).toMatch(
      /^user default off resetpass ~\* &\* \+@all$/m,
    );
  });

  test.each(['send', 'follow-up'])(
    'keeps the state file of %s on a volume of its own, not that of Redis',
    (name) => {
      const volume = 'state:/var/lib/volley';
      expect(service(name)['volumes']).toContain(volume);
      expect(service(name).environment?.['STATE_FILE']).toMatch(
        /^\$\{STATE_FILE:-\/var\/lib\/volley\/[^/]+\}$/,
      );
      expect(service('redis')['volumes']).not.toContain(volume);
      // Docker gives a new volume the owner of the folder in the image.
      const image = readFileSync(new URL('../../Dockerfile', import.meta.url), 'utf8');
      expect(image).toContain('chown 1000:1000 /var/lib/volley');
    },
  );

  test.each(Object.keys(compose.services))('rotates the log of %s', (name) => {
    expect(service(name)['logging']).toMatchObject({ options: { 'max-size': '10m', 'max-file': '5' } });
  });

  test.each(['send', 'follow-up', 'webhooks'])('checks the health of %s', (name) => {
    expect(service(name)['healthcheck']).toMatchObject({ test: expect.arrayContaining(['node']) });
  });

  test('lets the command line see no folder that contains secrets', () => {
    const mounts: unknown = service('volley')['volumes'];
    const sources = Array.isArray(mounts)
      ? mounts.map((mount: unknown) =>
          typeof mount === 'string' ? mount.replace(/:[^:]*(:ro)?$/, '') : String(Object(mount).source),
        )
      : [];
    expect(sources.some((source) => source.includes('LISTS'))).toBe(true);
    expect(sources.filter((source) => /^\.?\/?$|secrets/.test(source))).toEqual([]);
  });

  test('sets no secret to a value', () => {
    const values = Object.values(compose.services).flatMap(({ environment }) =>
      Object.entries(environment ?? {}),
    );
    const secrets: readonly string[] = secretsInFiles('all');
    const set = values.filter(([name, value]) => secrets.includes(name) && value !== null);
    expect(set.filter(([name]) => name !== 'REDIS_URL')).toEqual([]);
  });
});
