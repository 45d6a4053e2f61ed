import type { RequiredScope } from '../../src/campaign/states/api-key.js';
import type { AuditAction } from '../../src/campaign/states/audit.js';
import { OPERATIONS, type OperationName } from '../../src/operations/index.js';
import type { Operation } from '../../src/operations/operation.js';
import * as the from './inputs.js';

/*
 * What each operation may be used with and what it leaves, as a second statement beside its row: a row that is wrong does not agree with it.
 * An operation that is missing here does not compile.
 */

/**
 * What an operation touches: what the input names, and so which lanes a key must be allowed to use.
 *
 *   lane      the lane that the input names
 *   lanes     all lanes of the key, or one of them that the input names
 *   all       what covers all lanes: keys that are limited to some are refused
 *   others    an object of this kind on a lane
 */
type Touched =
  | 'lane'
  | 'lanes'
  | 'all'
  | 'campaign'
  | 'outbox'
  | 'schedule'
  | 'webhook'
  | 'suppression operation'
  | 'request for call records'
  | 'key';

/** A limit of a key that an operation may exceed. */
type Limit = 'senders' | 'recipientsPerDay';

interface More {
  readonly limits?: readonly Limit[];
  /** Whether the key also needs the scope `read`. */
  readonly alsoReads?: true;
  /** The status over HTTP if the operation gets through, other than success. */
  readonly status?: number;
}

export interface Expected extends More {
  /** Null if HTTP lacks the operation. */
  readonly scope: RequiredScope | null;
  readonly touches: Touched;
  /** Whether it only reads, so that a test key may use it on every lane. */
  readonly reads: boolean;
  /** An input with which it has something to do. */
  readonly input: the.Maker;
  /** What the audit trail then has of it; null: nothing. */
  readonly leaves: AuditAction | null;
}

type Scope = RequiredScope | null;
const reads = (
  scope: Scope,
  touches: Touched,
  input: the.Maker,
  leaves: AuditAction | null = null,
): Expected => ({
  ...{ scope, touches, input, leaves },
  reads: true,
});
const changes = (
  scope: Scope,
  touches: Touched,
  input: the.Maker,
  leaves: AuditAction | null,
  more: More = {},
): Expected => ({ ...{ scope, touches, input, leaves }, ...more, reads: false });

const SENDS: More = { limits: ['senders'] };
const STORES: More = { limits: ['senders', 'recipientsPerDay'] };
/** The service does not say whether it has the request. */
const NO_FILE: More = { status: 409 };
const ALSO_READS: More = { alsoReads: true };

const TABLE: Readonly<Record<OperationName, Expected>> = {
  createCampaign: changes('send', 'lane', the.newCampaign, 'campaign.create', STORES),
  uploadCampaign: changes('send', 'lane', the.newCampaign, 'campaign.create', STORES),
  previewCampaign: changes('send', 'lane', the.newCampaign, null, STORES),
  previewUpload: changes('send', 'lane', the.newCampaign, null, STORES),

  listCampaigns: reads('status', 'lanes', the.onLane),
  getCampaign: reads('status', 'campaign', the.campaign),
  getProgress: reads('status', 'campaign', the.campaign),
  listUnknown: reads('status', 'campaign', the.campaign),
  pauseCampaign: changes('operate', 'campaign', the.campaign, 'campaign.pause'),
  resumeCampaign: changes('operate', 'campaign', the.pausedCampaign, 'campaign.resume'),
  cancelCampaign: changes('operate', 'campaign', the.campaign, 'campaign.cancel'),
  setCampaign: changes('send', 'campaign', the.changedCampaign, 'campaign.set', SENDS),
  deleteCampaign: changes('operate', 'campaign', the.cancelledCampaign, 'campaign.delete'),
  getReport: reads('read', 'campaign', the.campaign, 'campaign.export'),
  listRecipients: reads('read', 'campaign', the.campaign),
  resolveCampaign: changes('operate', 'campaign', the.unknownCampaign, 'campaign.resolve'),
  listResults: reads('read', 'lanes', the.onLane),

  putTemplate: changes('send', 'lane', the.newTemplate, 'template.set', SENDS),
  listTemplates: reads('read', 'lane', the.laneWithTemplate),
  deleteTemplate: changes('operate', 'lane', the.template, 'template.delete'),

  addSchedule: changes('send', 'lane', the.newSchedule, 'schedule.add', SENDS),
  putSchedule: changes('send', 'lane', the.changedSchedule, 'schedule.set', SENDS),
  listSchedules: reads('read', 'lanes', the.onLane),
  getSchedule: reads('read', 'schedule', the.schedule),
  getNextOccurrences: reads('read', 'schedule', the.schedule),
  runSchedule: changes('send', 'schedule', the.schedule, 'schedule.run', SENDS),
  pauseSchedule: changes('operate', 'schedule', the.schedule, 'schedule.pause'),
  resumeSchedule: changes('operate', 'schedule', the.pausedSchedule, 'schedule.resume', SENDS),
  removeSchedule: changes('operate', 'schedule', the.schedule, 'schedule.remove'),

  createOutbox: changes('send', 'lane', the.newOutbox, 'outbox.create', SENDS),
  putOutbox: changes('send', 'lane', the.changedOutbox, 'outbox.set', SENDS),
  previewOutbox: changes('send', 'lane', the.changedOutbox, null, SENDS),
  setOutbox: changes(null, 'outbox', the.changedOutbox, 'outbox.set'),
  listOutboxes: reads('read', 'lanes', the.onLane),
  getOutbox: reads('read', 'outbox', the.outbox),
  pauseOutbox: changes('operate', 'outbox', the.outbox, 'outbox.pause'),
  resumeOutbox: changes('operate', 'outbox', the.pausedOutbox, 'outbox.resume'),
  resolveOutbox: changes('operate', 'outbox', the.unknownMessage, 'outbox.resolve'),
  closeOutbox: changes('operate', 'outbox', the.outbox, 'outbox.close'),
  deleteOutbox: changes('operate', 'outbox', the.emptyOutbox, 'outbox.delete'),
  listWaiting: reads('read', 'outbox', the.outbox),

  putMessage: changes('send', 'outbox', the.newMessage, null, STORES),
  putMessages: changes('send', 'outbox', the.newMessages, 'outbox.import', STORES),
  cancelMessage: changes('send', 'outbox', the.message, null),
  cancelMessages: changes('operate', 'outbox', the.outbox, 'outbox.cancel'),
  getMessage: reads('read', 'outbox', the.message),
  cancelSomeMessages: changes('send', 'outbox', the.someMessages, 'outbox.cancel'),
  listMessages: reads('read', 'outbox', the.outbox),
  getOutboxReport: reads('read', 'outbox', the.outbox, 'outbox.export'),

  listLanes: reads('status', 'lanes', the.nothing),
  getLane: reads('status', 'lane', the.namedLane),
  getLedger: reads('status', 'lane', the.namedLane),
  holdLane: changes('operate', 'lane', the.namedLane, 'lane.hold'),
  resumeLane: changes('operate', 'lane', the.heldLane, 'lane.resume'),
  renameLane: changes('operate', 'all', the.renamedLane, 'lane.rename'),
  addLane: changes('admin', 'all', the.newLane, 'lane.add'),
  setLane: changes('admin', 'all', the.changedLane, 'lane.set'),
  getLaneSettings: reads('admin', 'all', the.storedLane),
  removeLane: changes('admin', 'all', the.emptyLane, 'lane.remove'),

  showToken: reads(null, 'lane', the.onLane),
  logIn: changes(null, 'lane', the.onLane, 'token.login'),
  renewToken: changes(null, 'lane', the.onLane, 'token.refresh'),
  getSubscription: reads(null, 'lane', the.onLane),
  createSubscription: changes(null, 'lane', the.onLane, 'subscription.create'),
  deleteSubscription: changes(null, 'lane', the.onLane, 'subscription.delete'),

  findNumber: reads('read', 'lanes', the.hiddenNumber),
  forgetNumber: changes('operate', 'lane', the.anotherNumber, 'number.forget'),
  addSuppressions: changes('send', 'lane', the.newNumbers, 'suppression.add'),
  removeSuppressions: changes('operate', 'lane', the.suppressed, 'suppression.remove'),
  listSuppressions: reads('read', 'lane', the.onLane, 'suppression.export'),
  getSuppression: reads('read', 'lanes', the.suppressedNumber),
  listSuppressionOperations: reads('read', 'lanes', the.onLane),
  undoSuppressionOperation: changes('operate', 'suppression operation', the.suppression, 'suppression.undo'),

  receiveInbound: changes('inbound', 'lane', the.fromPerson, null),
  listInbound: reads('read', 'lanes', the.onLane),

  createKey: changes('admin', 'lanes', the.newKey, 'key.create', { limits: ['recipientsPerDay'] }),
  listKeys: reads('admin', 'lanes', the.nothing),
  showKey: reads('admin', 'key', the.apiKey),
  getMe: reads('any', 'lanes', the.nothing),
  rotateKey: changes('admin', 'key', the.apiKey, 'key.rotate', { limits: ['recipientsPerDay'] }),
  setKey: changes('admin', 'key', the.changedKey, 'key.set'),
  revokeKey: changes('admin', 'key', the.apiKey, 'key.revoke'),
  createSignInLink: changes(null, 'all', the.nothing, 'console.link'),

  getUsage: reads('read', 'lanes', the.onLane),
  listAuditEntries: reads('read', 'lanes', the.onLane),
  listWorkers: reads('read', 'all', the.nothing),
  runDoctor: reads('admin', 'all', the.nothing),

  fetchRecords: changes('send', 'lane', the.newRecords, 'records.request', NO_FILE),
  requestRecords: changes('send', 'lane', the.newRecords, 'records.request'),
  getRecordsStatus: changes('send', 'request for call records', the.records, null),
  downloadRecords: {
    ...reads('send', 'request for call records', the.records, 'records.export'),
    ...NO_FILE,
  },
  fetchRequestedRecords: changes('send', 'request for call records', the.records, 'records.export', NO_FILE),
  listRecords: reads('read', 'lanes', the.onLane),
  getRecords: reads('read', 'request for call records', the.records),
  resolveRecords: changes('operate', 'request for call records', the.unknownRecords, 'records.resolve'),

  followEvents: reads('read', 'lanes', the.onLane),
  followCampaign: reads('read', 'campaign', the.campaign),
  followLive: reads('read', 'lanes', the.nothing),

  addWebhook: changes('operate', 'lanes', the.newWebhook, 'webhook.add', ALSO_READS),
  listWebhooks: reads('read', 'lanes', the.onLane),
  getWebhook: reads('read', 'webhook', the.webhook),
  testWebhook: changes('operate', 'webhook', the.webhook, 'webhook.test'),
  rotateWebhook: changes('operate', 'webhook', the.webhook, 'webhook.rotate', ALSO_READS),
  enableWebhook: changes('operate', 'webhook', the.webhook, 'webhook.enable', ALSO_READS),
  disableWebhook: changes('operate', 'webhook', the.webhook, 'webhook.disable'),
  setWebhook: changes('operate', 'webhook', the.movedWebhook, 'webhook.set', ALSO_READS),
  assignWebhook: changes('operate', 'webhook', the.webhook, 'webhook.assign', ALSO_READS),
  listFailedDeliveries: reads('read', 'webhook', the.webhook),
  replayWebhook: changes('operate', 'webhook', the.webhook, 'webhook.replay'),
  removeWebhook: changes('operate', 'webhook', the.webhook, 'webhook.remove'),
};

/** All operations, with what the table expects of each. */
export const CASES = OPERATIONS.map((operation) => ({
  ...{ name: operation.name, operation },
  expected: TABLE[operation.name as OperationName],
}));

/** The member of the input that names a lane; undefined if none does. */
export function laneMember({ access, http, input }: Operation): string | undefined {
  if ('lane' in input.shape || access.rule === 'lane') return 'lane';
  return typeof http === 'string' ? /^\w+ \/lanes\/\{(\w+)\}/.exec(http)?.[1] : undefined;
}
