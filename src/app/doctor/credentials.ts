import { accountOf, type Config } from '../../base/config/index.js';
import type { Volley } from '../volley.js';
import { type Finding, fail, ok, warn } from './check.js';

/** What each lane sends with. It does not log in: a wrong password would use up one of few attempts. */
export async function checkCredentials(config: Config, volley: Volley): Promise<Finding[]> {
  return (await Promise.all(config.lanes.map((lane) => checkLane(lane, config, volley)))).flat();
}

async function checkLane(
  { name, credentials }: Config['lanes'][number],
  { secretsKey }: Config,
  volley: Volley,
): Promise<Finding[]> {
  const title = `credentials of lane ${name}`;
  const checks: Finding[] = [];
  const account = accountOf(credentials);
  if (credentials.kind === 'apiKey')
    checks.push(ok(title, 'an API key is set; the first request shows whether the service accepts it'));
  if (account === undefined) return checks;
  const token = await volley.token(name)?.show();
  if (token === undefined) {
    const kind = account.scope === undefined ? 'account' : 'client';
    checks.push(ok(title, `the ${kind} ${JSON.stringify(account.username)}`));
  } else if (token.blockedReason !== null)
    checks.push(fail(title, `token ${token.state}`, token.blockedReason));
  else if (token.state === 'none' && !token.login.proven)
    checks.push(
      warn(title, 'the account has not logged in yet', `To try it: volley token login --lane ${name}`),
    );
  else checks.push(ok(title, `token ${token.state}`));
  if (secretsKey === undefined)
    checks.push(
      warn(
        `tokens of lane ${name}`,
        'stored unencrypted: anyone who can read Redis can send with your account',
        'Set SECRETS_KEY to the same value for every process. To create one: openssl rand -base64 32',
      ),
    );
  return checks;
}
