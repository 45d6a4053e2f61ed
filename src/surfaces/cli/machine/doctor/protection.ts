import { type Finding, fail, warn } from '../../../../app/doctor/check.js';
import { type Environment, type LocalConfig, redisExposure } from '../../../../base/config/index.js';

/** What is unprotected: certificates, the way to Redis, and what ALLOW_INSECURE allows. */
export function checkProtection(
  { redisUrl, allowInsecure }: Pick<LocalConfig, 'redisUrl' | 'allowInsecure'>,
  env: Environment = {},
): Finding[] {
  const { isRemote, hasTls } = redisExposure(redisUrl ?? 'redis://127.0.0.1');
  const checks: Finding[] = [];
  if (env['NODE_TLS_REJECT_UNAUTHORIZED'] === '0')
    checks.push(
      fail(
        'certificates',
        'NODE_TLS_REJECT_UNAUTHORIZED is 0, so no certificate is checked: anyone on the way can pose as the service or as Redis, and read keys, passwords, and numbers',
        'Remove it here and for the workers. For a certificate of your own authority, set SERVICE_CA_FILE (service) or NODE_EXTRA_CA_CERTS (Redis).',
      ),
    );
  if (isRemote && !hasTls)
    checks.push(
      warn(
        'Redis encryption',
        'REDIS_URL has no TLS: others on the network can read numbers, texts, and the password of Redis',
        'Use rediss://, or a network that only Volley and Redis share.',
      ),
    );
  if (allowInsecure.length > 0)
    checks.push(
      warn(
        'ALLOW_INSECURE',
        `allows ${allowInsecure.join(', ')}`,
        'Remove what is no longer needed. .env.example says what each word allows.',
      ),
    );
  return checks;
}
