import { describe, expect, it } from 'vitest';
import { ConfigError, loadConfig, serviceConnection } from '../../../src/base/config/index.js';
import { SELF_SIGNED } from '../../interface/certificate.js';

const SERVICE = { API_KEY: 'k', MESSAGING_BASE_URL: 'https://sms.host.example/v1' };
const PROXY = 'http://ann:secret@proxy.example:3128';

const proxyOf = (baseUrl: string, environment: Record<string, string>) =>
  serviceConnection(loadConfig({ ...SERVICE, ...environment }), baseUrl).proxy;

describe('A service is reached through the proxy', () => {
  it.each([
    ['https://sms.host.example/v1', '', true],
    ['http://sms.host.example/v1', '', false],
    ['https://sms.host.example/v1', '*', false],
    ['https://sms.host.example/v1', 'host.example', false],
    ['https://sms.host.example/v1', '.host.example', false],
    ['https://sms.host.example/v1', '*.HOST.example', false],
    ['https://sms.host.example/v1', 'localhost, sms.host.example', false],
    ['https://sms.host.example/v1', 'sms.host.example:443', false],
    ['https://sms.host.example/v1', 'sms.host.example:8443', true],
    ['https://sms.host.example:8443/v1', 'sms.host.example:8443', false],
    ['https://sms.host.example/v1', 'ost.example', true],
    ['https://10.0.0.7/v1', '10.0.0.7', false],
  ])('at %s with NO_PROXY "%s": %s', (baseUrl, NO_PROXY, isProxied) => {
    expect(proxyOf(baseUrl, { HTTPS_PROXY: PROXY, NO_PROXY })).toBe(isProxied ? PROXY : undefined);
  });

  it('also if the variables are in lower case, or the address has no scheme', () => {
    const environment = { https_proxy: 'proxy.example:3128', no_proxy: 'other.example' };
    expect(proxyOf('https://sms.host.example/v1', environment)).toBe('http://proxy.example:3128');
    expect(proxyOf('https://other.example', environment)).toBeUndefined();
  });
});

describe('SERVICE_CA_FILE', () => {
  const load = (contents: string) =>
    loadConfig({ ...SERVICE, SERVICE_CA_FILE: 'ca.pem' }, { readFile: () => contents });

  it('is read once, with the configuration', () => {
    expect(load(SELF_SIGNED.cert).serviceCa).toBe(SELF_SIGNED.cert);
  });

  it.each(['', 'not a certificate', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----'])(
    'that contains no certificate is an error: %j',
    (contents) => {
      expect(() => load(contents)).toThrow(ConfigError);
      expect(() => load(contents)).toThrow(/SERVICE_CA_FILE must .*ca\.pem/);
    },
  );

  it('that does not exist is an error', () => {
    expect(() => loadConfig({ ...SERVICE, SERVICE_CA_FILE: '/nowhere/ca.pem' })).toThrow(
      /SERVICE_CA_FILE must be a file that you can read. There is no file .*\/nowhere\/ca\.pem/,
    );
  });
});
