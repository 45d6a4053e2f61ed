interface RedisAddress {
  scheme: 'single' | 'sentinel' | 'cluster';
  tls: boolean;
  nodes: { host: string; port: number }[];
  username: string | undefined;
  password: string | undefined;
  path: string;
  db: number | undefined;
}

const REDIS_URL =
  /^(?<protocol>rediss?)(?:\+(?<kind>sentinel|cluster))?:\/\/(?:(?<user>[^:@/]*)(?::(?<password>[^@/]*))?@)?(?<hosts>[^/?]+)(?:\/(?<path>[^?]*))?(?:\?db=(?<db>\d+))?$/;

/** Reads a Redis URL. Throws a `TypeError` that lists the valid forms; it never repeats the password. */
export function parseRedisUrl(url: string): RedisAddress {
  const groups = REDIS_URL.exec(url)?.groups;
  const [protocol, kind, hosts] = [groups?.['protocol'], groups?.['kind'], groups?.['hosts']];
  // The path of a single server is the number of its database.
  const isPath = kind !== undefined || !/\D/.test(groups?.['path'] ?? '');
  if (protocol === undefined || hosts === undefined || !isPath)
    throw new TypeError(
      'not a Redis URL: use redis://host:6379, rediss://user:password@host:6379/0, redis+sentinel://host:26379,host:26379/master-name or redis+cluster://host:7000,host:7001',
    );
  const decode = (text: string | undefined): string | undefined =>
    text === undefined || text === '' ? undefined : decodeURIComponent(text);
  return {
    scheme: kind === 'sentinel' || kind === 'cluster' ? kind : 'single',
    tls: protocol === 'rediss',
    nodes: hosts.split(',').map((host) => {
      const [, name = host, port] = /^(.*?)(?::(\d+))?$/.exec(host) ?? [];
      return { host: name, port: Number(port ?? (kind === 'sentinel' ? 26379 : 6379)) };
    }),
    username: decode(groups?.['user']),
    password: decode(groups?.['password']),
    path: groups?.['path'] ?? '',
    db: groups?.['db'] === undefined ? undefined : Number(groups['db']),
  };
}
