import { ACCOUNT_CHECKS, accountOfRun } from './account-checks.js';
import { type Part, part } from './check.js';
import { ACCEPTED_CHECKS, SEND_CHECKS } from './message-checks.js';
import { NOTIFICATION_CHECKS, notificationsOf } from './notification-checks.js';
import { READ_CHECKS } from './read-checks.js';
import { REQUEST_CHECKS } from './request-checks.js';
import type { Run } from './run.js';
import { CREATE, CREATE_CHECKS, CREATED_CHECKS, DELETE_CHECKS } from './subscription-checks.js';

const isFree = ({ found }: Run): boolean => found?.kind === 'none';
const created = ({ subscription }: Run) => (subscription?.isCreated === true ? subscription : undefined);
const accepted = ({ message }: Run) => (message?.resourceUrl === null ? undefined : message);

/** All checks of a service, in their order. The message is sent while the subscription of the test exists. */
export const CHECKS: readonly Part[] = [
  part(accountOfRun, ACCOUNT_CHECKS),
  part((run) => run, READ_CHECKS),
  part(({ options: { request } }) => request && { ...request, isShown: false }, REQUEST_CHECKS),
  part((run) => (isFree(run) ? undefined : run.subscription), [CREATE]),
  part((run) => (isFree(run) ? run.subscription : undefined), CREATE_CHECKS),
  part(created, CREATED_CHECKS),
  part(({ message }) => message, SEND_CHECKS),
  part((run) => {
    const { content, ids } = accepted(run) ?? {};
    const [id] = ids ?? [];
    if (content === undefined || id === undefined) return undefined;
    const { sender, recipients: to, callbackData } = content;
    return { sender, id, to, callbackData, isShown: false };
  }, REQUEST_CHECKS),
  part(accepted, ACCEPTED_CHECKS),
  part(notificationsOf, NOTIFICATION_CHECKS),
  part(created, DELETE_CHECKS),
];
