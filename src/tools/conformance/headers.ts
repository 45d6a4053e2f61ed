import type { Bearer } from '../../service/client/bearer.js';
import type { Run } from './run.js';
import { type Session, SUBSCRIPTIONS } from './session.js';

/** A way to send credentials, and the settings that choose it. */
interface Form {
  readonly bearer: Bearer;
  readonly text: string;
  readonly setting: string;
}

/** The ways to send the credentials of a lane. */
async function formsOf({ settings, tokens }: Session): Promise<Form[]> {
  const { credentials } = settings;
  const key = credentials.kind === 'apiKey' ? credentials.apiKey : undefined;
  const outcome = tokens === null ? undefined : await tokens.get();
  const token = outcome?.kind === 'token' ? outcome.token : undefined;
  const forms: Form[] = [];
  if (key !== undefined)
    forms.push({
      bearer: { authorization: key },
      text: 'the API key alone',
      setting: 'authorization: apiKey, xAuthorization: none',
    });
  if (key !== undefined && token !== undefined)
    forms.push({
      bearer: { authorization: key, xAuthorization: token },
      text: 'the API key with the access token in X-Authorization',
      setting: 'authorization: apiKey, xAuthorization: accessToken',
    });
  if (token !== undefined)
    forms.push(
      {
        bearer: { authorization: token },
        text: 'the access token alone',
        setting: 'an account without an API key, xAuthorization: none',
      },
      {
        bearer: { authorization: token, xAuthorization: token },
        text: 'the access token in both headers',
        setting: 'an account without an API key, xAuthorization: accessToken',
      },
    );
  return forms;
}

/** Tries which headers the service accepts, of those that the credentials of the lane allow. */
export async function noteHeaders({ session, ways }: Run): Promise<void> {
  const accepted: Form[] = [];
  const refused: string[] = [];
  for (const form of await formsOf(session)) {
    const arrived = await session.request({ method: 'GET', path: SUBSCRIPTIONS, as: form.bearer });
    if (arrived.kind !== 'reply') continue;
    const { status } = arrived.reply;
    if (status === 200 || status === 404) accepted.push(form);
    else refused.push(`${form.text} (${status})`);
  }
  const found = [
    ...(accepted.length > 0 ? [`accepts ${accepted.map(({ text }) => text).join(', and ')}`] : []),
    ...(refused.length > 0 ? [`refuses ${refused.join(', and ')}`] : []),
  ];
  if (found.length === 0) return;
  const [first] = accepted;
  ways.note(
    'headers',
    found.join('; '),
    first === undefined
      ? 'Check the credentials of the lane: the service accepts none of these.'
      : `For the lane: ${first.setting}.`,
  );
}
