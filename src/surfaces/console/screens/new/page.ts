import { useState } from 'preact/hooks';
import { compileTemplate } from '../../../../campaign/template.js';
import { overview, serverNow } from '../../base/live.js';
import { session } from '../../base/session.js';
import { useCheck, useFirstCheck } from './check.js';
import { campaignOf, type Draft, EMPTY, startOf } from './draft.js';
import type { ChosenList } from './list.js';

/** What the steps of the page share. */
export type Page = ReturnType<typeof usePage>;

/** What a person has chosen and entered, and what the server says about it. */
export function usePage() {
  const [draft, setDraft] = useState(EMPTY);
  const [list, setList] = useState<ChosenList | null>(null);
  const lanes = overview.value?.lanes ?? session.value?.lanes ?? [];
  const change = (changes: Partial<Draft>): void => setDraft((before) => ({ ...before, ...changes }));
  /** The draft as the API takes it. */
  const campaign = campaignOf({ ...draft, lane: draft.lane || (lanes[1] && lanes[0]) || '' });
  const { sendAt: _sendAt, zone: _zone, ...unscheduled } = campaign;
  /** The check of the beginning, and that of the whole list. */
  const first = useFirstCheck(list, { sender: 'Sender', ...unscheduled });
  const columns = first.data?.columns ?? [];
  const hasBoth = draft.message.trim() !== '' && columns.length > 0;
  const compiled = compileTemplate(draft.message, columns);
  /** What is wrong with the message, as the server would say it. */
  const messageProblem = !hasBoth || compiled.ok ? null : compiled.reason;
  const isReady = hasBoth && compiled.ok && 'at' in startOf(draft, serverNow());
  const whole = useCheck(list, campaign, isReady);
  const isChecked = whole.preview !== null && whole.isCurrent;
  /** What the server knows best about the list as it is, and whether it has read all of it. */
  const preview = isChecked ? whole.preview : first.data;
  const isWhole = isChecked || list?.isWhole === true;
  return { draft, change, list, setList, lanes, campaign, messageProblem, first, whole, preview, isWhole };
}
