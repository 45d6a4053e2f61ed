import type { Run } from './run.js';
import { GET_SUBSCRIPTION } from './session.js';

/** The ways to send the credentials of a lane: what Authorization and X-Authorization carry, and the settings that choose it. */
const FORMS: readonly { carries: readonly ('key' | 'token')[]; text: string; setting: string }[] = [
  {
    carries: ['key'],
    text: 'the API key alone',
    setting: 'authorization: apiKey, xAuthorization: none',
  },
  {
    carries: ['key', 'token'],
    text: 'the API key with the access token in X-Authorization',
    setting: 'authorization: apiKey, xAuthorization: accessToken',
  },
  {
    carries: ['token'],
    text: 'the access token alone',
    setting: 'an account without an API key, xAuthorization: none',
  },
  {
    carries: ['token', 'token'],
    text: 'the access token in both headers',
    setting: 'an account without an API key, xAuthorization: accessToken',
  },
];

/** Tries which headers the service accepts, of those that the credentials of the lane allow. */
export async function noteHeaders({ session, ways, profile, isAnswered }: Run): Promise<undefined> {
  if (!isAnswered || profile.credentials.kind !== 'keyOrAccount') return undefined;
  const { credentials } = session.settings;
  const outcome = await session.tokens?.get();
  const held = {
    key: credentials.kind === 'apiKey' ? credentials.apiKey : undefined,
    token: outcome?.kind === 'token' ? outcome.token : undefined,
  };
  const accepted: (typeof FORMS)[number][] = [];
  const refused: string[] = [];
  for (const form of FORMS) {
    const values = form.carries.map((each) => held[each]);
    const [authorization, xAuthorization] = values;
    if (authorization === undefined || values.includes(undefined)) continue;
    const as = { authorization, ...(xAuthorization !== undefined && { xAuthorization }) };
    const arrived = await session.request({ ...GET_SUBSCRIPTION, as });
    if (arrived.kind !== 'reply') continue;
    const { status } = arrived.reply;
    if (status === 200 || status === 404) accepted.push(form);
    else refused.push(`${form.text} (${status})`);
  }
  const headers = [
    ...(accepted.length > 0 ? [`accepts ${accepted.map(({ text }) => text).join(', and ')}`] : []),
    ...(refused.length > 0 ? [`refuses ${refused.join(', and ')}`] : []),
  ];
  if (headers.length === 0) return undefined;
  const [first] = accepted;
  ways.note(
    'headers',
    headers.join('; '),
    first === undefined
      ? 'Check the credentials of the lane: the service accepts none of these.'
      : `For the lane: ${first.setting}.`,
  );
  return undefined;
}
