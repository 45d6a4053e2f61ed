import type { LocalConfig } from '../../../base/config/index.js';
import { requestedLane } from '../../../base/config/requested-lane.js';
import { durationOf } from '../../../base/duration.js';
import { InputError, throwInputErrors } from '../../../campaign/errors/errors.js';
import {
  type FieldOf,
  fieldsOf,
  OUTBOX_NAMES,
  problemsOf,
  storedValues,
} from '../../../campaign/fields/field-sets.js';
import { type CampaignFields, FIELDS, NAME } from '../../../campaign/fields/fields.js';
import { placeholdersOf } from '../../../campaign/text/template.js';
import { parseSendTimeRule, SEND_TIME_FORM } from '../../../campaign/time/send-time.js';
import { isZone, noSuchZone } from '../../../campaign/time/zone.js';
import { needsZones, windowOf, withDefaults } from '../../import/campaign-input.js';
import type { OutboxDefinition } from './settings.js';

/** An outbox to be created. */
export interface OutboxInput extends Pick<CampaignFields, FieldOf<'outbox'>> {
  /** 1 to 64 letters, digits, `-` and `_`, unique on its lane. */
  readonly name: string;
  /** When a message without a time of its own is sent: `now` (the default), or such as `appointment - 24h`. */
  readonly sendRule?: string | undefined;
  /** The IANA zone of local times and of `- 1d`, such as `Europe/London`. Required unless `sendRule` is `now`. */
  readonly zone?: string | undefined;
  /** How long after its time a message may still be sent, such as `90m`; then it lapses. Default: `1h`. */
  readonly late?: string | undefined;
}

const LATE_MS = 3_600_000;
const MAX_LATE_MS = 30 * 86_400_000;
/** Members of a message that are not values, and so cannot be placeholders. */
const RESERVED = ['sendAt', 'version', 'zone'];

/** Checks what does not depend on Redis. `lane`: that of an outbox that exists. Throws an InputError that names the member. */
export function defineOutbox(
  config: LocalConfig,
  input: OutboxInput,
  now: number,
  lane?: { readonly sendWindow?: string | undefined },
): OutboxDefinition {
  const refuse = (field: string, reason: string): never => {
    throw new InputError(reason, { field });
  };
  if (!NAME.test(input.name))
    refuse(
      'name',
      'the name of an outbox has 1 to 64 letters, digits, - and _, and begins with a letter or digit',
    );
  const fields = withDefaults(config, 'outbox', input);
  throwInputErrors(problemsOf(fieldsOf('outbox'), fields));
  const { sender = '', priority = FIELDS.priority.usual } = fields;
  const placeholders = placeholdersOf(input.message);
  if (!placeholders.ok) return refuse('message', placeholders.reason);
  const reserved = placeholders.names.find((name) => name.startsWith('@') || RESERVED.includes(name));
  if (reserved !== undefined)
    refuse(
      'message',
      `the message uses {{${reserved}}}, which is not a value of a message; use another name`,
    );
  const sendRule = input.sendRule ?? 'now';
  const rule = parseSendTimeRule(sendRule);
  if (rule === null)
    return refuse(
      'sendRule',
      `the send rule ${JSON.stringify(sendRule)} is not valid: write ${SEND_TIME_FORM}`,
    );
  if (input.zone !== undefined && !isZone(input.zone)) refuse('zone', noSuchZone(input.zone));
  if (input.zone === undefined && rule.kind === 'relative')
    refuse(
      'zone',
      'there is no time zone: set `zone`, such as Europe/London, because the send time follows from local times',
    );
  const { sendWindow } = lane ?? requestedLane(config, input.lane);
  if (input.zoneFrom !== undefined && input.window?.zone === undefined)
    refuse('zoneFrom', needsZones('zoneFrom'));
  const window = windowOf(input, sendWindow, now);
  const lateMs = input.late === undefined ? LATE_MS : (durationOf(input.late) ?? 0);
  if (!(lateMs >= 1_000 && lateMs <= MAX_LATE_MS))
    refuse('late', '`late` must be between 1s and 30d: how long after its time a message may still be sent');
  return {
    // The default country is that of the process that takes a message.
    ...storedValues(OUTBOX_NAMES, { ...fields, country: input.country }),
    ...(window === undefined ? {} : { window }),
    sender,
    priority,
    sendRule,
    ...(input.zone === undefined ? {} : { zone: input.zone }),
    lateMs,
  };
}
