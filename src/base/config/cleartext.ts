import { parseRedisUrl } from '../redis/redis-url.js';
import { isLoopback } from './formats.js';

/** What travels or is stored unencrypted, or unprotected, only if `ALLOW_INSECURE` lists it. */
export const INSECURE = ['service', 'redis', 'tokens', 'keys'] as const;
/** See {@link INSECURE}. */
export type Insecure = (typeof INSECURE)[number];

/** Whether a host is this machine: 127.0.0.0/8, `::1`, or `localhost`. */
export function isThisMachine(host: string): boolean {
  return isLoopback(`http://${host.includes(':') && !host.startsWith('[') ? `[${host}]` : host}`);
}

/** What of a Redis URL matters for its safety. `isRemote`: a node is not on this machine. */
export function redisExposure(url: string): { isRemote: boolean; hasPassword: boolean; hasTls: boolean } {
  const { nodes, password, tls } = parseRedisUrl(url);
  return {
    isRemote: nodes.some(({ host }) => !isThisMachine(host)),
    hasPassword: password !== undefined,
    hasTls: tls,
  };
}

/** What {@link cleartextProblems} checks. Undefined: not set. */
interface Exposure {
  readonly allowed: readonly Insecure[];
  readonly redisUrl: string | undefined;
  readonly secretsKey: string | undefined;
  readonly previousSecretsKey?: string | undefined;
  /** The addresses of the services by the names of their settings. */
  readonly services: Readonly<Record<string, string | undefined>>;
  readonly hasAccounts: boolean;
}

/** One sentence for each secret that would leave this machine, or be stored off it, unprotected. */
export function cleartextProblems(exposure: Exposure): string[] {
  const { allowed, redisUrl, secretsKey, previousSecretsKey, services, hasAccounts } = exposure;
  const redis = redisUrl === undefined ? undefined : redisExposure(redisUrl);
  const problems: string[] = [];
  for (const [name, url] of allowed.includes('service') ? [] : Object.entries(services)) {
    if (url === undefined || !url.startsWith('http:') || isLoopback(url)) continue;
    problems.push(
      `${name} must be an https URL, because its host is not this machine and others on the network could read keys and numbers; to allow http, set ALLOW_INSECURE=service`,
    );
  }
  if (redis?.isRemote && !redis.hasPassword && !allowed.includes('redis')) {
    problems.push(
      'REDIS_URL must contain a password, because its server is not on this machine: redis://:PASSWORD@host:6379, or set REDIS_PASSWORD; to allow a Redis without one, set ALLOW_INSECURE=redis',
    );
  }
  if (redis?.isRemote && hasAccounts && secretsKey === undefined && !allowed.includes('tokens')) {
    problems.push(
      'SECRETS_KEY must be set, because the tokens of accounts would be stored unencrypted in a Redis that is not on this machine; generate it with `openssl rand -base64 32`; to allow it, set ALLOW_INSECURE=tokens',
    );
  }
  if (previousSecretsKey !== undefined && secretsKey === undefined)
    problems.push('SECRETS_KEY_PREVIOUS is set without SECRETS_KEY: set SECRETS_KEY to the new key');
  return problems;
}
