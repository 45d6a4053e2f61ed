import type { Operation } from './operation.js';
import * as audit from './rows/audit.js';
import * as campaigns from './rows/campaigns.js';
import * as creation from './rows/create-campaign.js';
import * as events from './rows/events.js';
import * as inbound from './rows/inbound.js';
import * as installation from './rows/installation.js';
import * as keys from './rows/keys.js';
import * as lanes from './rows/lanes.js';
import * as messages from './rows/messages.js';
import * as outboxes from './rows/outboxes.js';
import * as records from './rows/records.js';
import * as results from './rows/results.js';
import * as schedules from './rows/schedules.js';
import * as subscription from './rows/subscription.js';
import * as suppressions from './rows/suppressions.js';
import * as templates from './rows/templates.js';
import * as token from './rows/token.js';
import * as usage from './rows/usage.js';
import * as webhooks from './rows/webhooks.js';

/** In the order of the documentation. The members of a module would be in the order of the alphabet. */
const ALL = [
  creation.createCampaign,
  creation.uploadCampaign,
  creation.previewCampaign,
  creation.previewUpload,
  campaigns.listCampaigns,
  campaigns.getCampaign,
  campaigns.getProgress,
  campaigns.listUnknown,
  campaigns.pauseCampaign,
  campaigns.resumeCampaign,
  campaigns.cancelCampaign,
  campaigns.setCampaign,
  campaigns.deleteCampaign,
  campaigns.getReport,
  campaigns.listRecipients,
  campaigns.resolveCampaign,
  results.listResults,
  templates.putTemplate,
  templates.listTemplates,
  templates.deleteTemplate,
  schedules.addSchedule,
  schedules.putSchedule,
  schedules.listSchedules,
  schedules.getSchedule,
  schedules.getNextOccurrences,
  schedules.runSchedule,
  schedules.pauseSchedule,
  schedules.resumeSchedule,
  schedules.removeSchedule,
  outboxes.createOutbox,
  outboxes.putOutbox,
  outboxes.previewOutbox,
  outboxes.setOutbox,
  outboxes.listOutboxes,
  outboxes.getOutbox,
  outboxes.pauseOutbox,
  outboxes.resumeOutbox,
  outboxes.resolveOutbox,
  outboxes.closeOutbox,
  outboxes.deleteOutbox,
  outboxes.listWaiting,
  messages.putMessage,
  messages.putMessages,
  messages.cancelMessage,
  messages.cancelSomeMessages,
  messages.cancelMessages,
  messages.getMessage,
  messages.listMessages,
  messages.getOutboxReport,
  lanes.listLanes,
  lanes.getLane,
  lanes.getLedger,
  lanes.holdLane,
  lanes.resumeLane,
  lanes.renameLane,
  lanes.addLane,
  lanes.setLane,
  lanes.getLaneSettings,
  lanes.removeLane,
  token.showToken,
  token.logIn,
  token.renewToken,
  subscription.getSubscription,
  subscription.createSubscription,
  subscription.deleteSubscription,
  suppressions.findNumber,
  suppressions.forgetNumber,
  suppressions.addSuppressions,
  suppressions.removeSuppressions,
  suppressions.listSuppressions,
  suppressions.getSuppression,
  suppressions.listSuppressionOperations,
  suppressions.undoSuppressionOperation,
  inbound.receiveInbound,
  inbound.listInbound,
  keys.createKey,
  keys.listKeys,
  keys.showKey,
  keys.getMe,
  keys.rotateKey,
  keys.setKey,
  keys.revokeKey,
  keys.createSignInLink,
  audit.listAuditEntries,
  usage.getUsage,
  installation.listWorkers,
  installation.runDoctor,
  records.fetchRecords,
  records.requestRecords,
  records.getRecordsStatus,
  records.downloadRecords,
  records.fetchRequestedRecords,
  records.listRecords,
  records.getRecords,
  records.resolveRecords,
  events.followEvents,
  events.followCampaign,
  events.followLive,
  webhooks.addWebhook,
  webhooks.listWebhooks,
  webhooks.getWebhook,
  webhooks.setWebhook,
  webhooks.assignWebhook,
  webhooks.testWebhook,
  webhooks.rotateWebhook,
  webhooks.enableWebhook,
  webhooks.disableWebhook,
  webhooks.listFailedDeliveries,
  webhooks.replayWebhook,
  webhooks.removeWebhook,
];

/** An operation, with its name and its schemas as they are written in its row. */
export type OperationRow = (typeof ALL)[number];
/** The name of an operation. */
export type OperationName = OperationRow['name'];

/** Every operation, in the order of the documentation. */
export const OPERATIONS: readonly Operation[] = ALL;
