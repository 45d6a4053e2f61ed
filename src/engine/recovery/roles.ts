/** What a worker does: `send` sends requests, `follow-up` polls their delivery status, `webhooks` posts results to endpoints. */
export type Role = 'send' | 'follow-up' | 'webhooks';
/** Every role, in the order of a campaign. */
export const ROLES: readonly Role[] = ['send', 'follow-up', 'webhooks'];
