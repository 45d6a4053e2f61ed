import { z } from 'zod';
import { putOutcome } from '../../campaign/views/measures.js';
import { template } from '../../intake/templates/templates.js';
import { byLane } from '../access.js';
import { call } from '../operation.js';
import { membersOf } from '../schemas/campaign-members.js';
import { LANE_FLAG, laneName } from '../schemas/schemas.js';

const lane = laneName.optional().describe('Default: the first lane, or the only lane of the key');
const ofTemplate = z.strictObject({
  name: z.string().min(1).max(64).describe('Unique on its lane: 1 to 64 letters, digits, `-`, and `_`'),
  lane,
});

/** An operation on the templates of a lane. */
const TEMPLATE = { tag: 'Templates', access: byLane } as const;
const COMMAND = {
  arguments: { name: 'the name of the template: up to 64 letters, digits, - and _' },
  flags: { lane: { ...LANE_FLAG, about: 'the lane of the template (default: the first one)' } },
} as const;

export const putTemplate = call({
  ...TEMPLATE,
  name: 'putTemplate',
  summary: 'Save a text as a template',
  description:
    'Campaigns and schedules of the lane can use it by its name. It replaces a template of this name; what was created with that keeps its text.',
  scope: 'send',
  audit: 'template.set',
  button: { label: 'Save this text' },
  http: 'PUT /templates/{name}',
  cli: {
    ...COMMAND,
    usage: 'template put <name>',
    examples: ['template put sale --message "Hi {{name}}, your code is {{voucher}}" --sender ACME'],
  },
  input: ofTemplate.extend(membersOf('template')),
  output: template.extend({ outcome: putOutcome }),
  returns: 'The template',
  outcomes: ['overLimit'],
  run: (volley, input) => volley.templates.put(input),
});

export const listTemplates = call({
  ...TEMPLATE,
  name: 'listTemplates',
  summary: 'List the templates of a lane',
  description: 'They are sorted by name.',
  scope: 'read',
  cost: { tokens: 2 },
  http: 'GET /templates',
  cli: { usage: 'template list', flags: COMMAND.flags, examples: ['template list'] },
  input: z.strictObject({ lane }),
  output: z.object({ templates: z.array(template) }),
  returns: 'The templates',
  isLong: true,
  run: async (volley, choice) => ({ templates: await volley.templates.list(choice) }),
});

export const deleteTemplate = call({
  ...TEMPLATE,
  name: 'deleteTemplate',
  summary: 'Delete a template',
  description: 'What was created with it keeps its text.',
  scope: 'operate',
  bucket: 'control',
  audit: 'template.delete',
  http: 'DELETE /templates/{name}',
  cli: { ...COMMAND, usage: 'template delete <name>', examples: ['template delete sale'] },
  input: ofTemplate,
  output: z.object({ name: z.string(), state: z.literal('deleted') }),
  returns: 'The template is deleted',
  async run(volley, { name, lane }) {
    await volley.templates.delete(name, { lane });
    return { name, state: 'deleted' as const };
  },
});
