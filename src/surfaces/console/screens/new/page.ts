import { useEffect, useState } from 'preact/hooks';
import { compileTemplate } from '../../../../campaign/text/template.js';
import { dropDraft, keepDraft, keptDraft } from '../../base/kept-draft.js';
import { overview, serverNow } from '../../base/live.js';
import { session } from '../../base/session.js';
import { useCheck, useFirstCheck } from './check.js';
import { campaignOf, type Draft, EMPTY, keptOf, restored, startOf } from './draft.js';
import type { ChosenList } from './list.js';

/** What the steps of the page share. */
export type Page = ReturnType<typeof usePage>;

/** What a person has chosen and entered, and what the server says about it. */
export function usePage() {
  const [draft, setDraft] = useState(() => restored(keptDraft()));
  const kept = keptOf(draft);
  useEffect(() => (kept === null ? dropDraft() : keepDraft(kept)), [draft]);
  const [list, setList] = useState<ChosenList | null>(null);
  const startOver = (): void => {
    setDraft(EMPTY);
    setList(null);
  };
  const lanes = overview.value?.lanes ?? session.value?.lanes ?? [];
  /** `again` is about the campaign as it was. */
  const change = (changes: Partial<Draft>): void =>
    setDraft((before) => ({ ...before, again: false, ...changes }));
  const onLane = { ...draft, lane: draft.lane || (lanes[1] && lanes[0]) || '' };
  const { sendAt: _sendAt, zone: _zone, ...unscheduled } = campaignOf(onLane);
  /** The check of the beginning, and that of the whole list. */
  const first = useFirstCheck(list, { sender: 'Sender', ...unscheduled }, draft.countryColumn === '');
  const head = list !== null && first.key?.startsWith(list.key) ? first.data : null;
  /** The draft as the API takes it, with the column of countries that the first check has found. */
  const countryColumn = draft.countryColumn || head?.countryColumn || '';
  const campaign = campaignOf({ ...onLane, countryColumn });
  const columns = head?.columns ?? [];
  const hasBoth = draft.message.trim() !== '' && columns.length > 0;
  const compiled = compileTemplate(draft.message, columns);
  /** What is wrong with the message, as the server would say it. */
  const messageProblem = !hasBoth || compiled.ok ? null : compiled.reason;
  const isReady = hasBoth && compiled.ok && 'at' in startOf(draft, serverNow());
  const whole = useCheck(list, campaign, isReady);
  const isChecked = whole.preview !== null && whole.isCurrent;
  /** What the server knows best about the list as it is, and whether it has read all of it. */
  const preview = isChecked ? whole.preview : head;
  const isWhole = isChecked || list?.isWhole === true;
  return {
    draft,
    change,
    list,
    setList,
    lanes,
    campaign,
    messageProblem,
    first,
    whole,
    preview,
    isWhole,
    startOver: kept === null && list === null ? null : startOver,
  };
}
