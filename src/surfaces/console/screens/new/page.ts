import { useEffect, useMemo, useState } from 'preact/hooks';
import { checkSender } from '../../../../campaign/text/sender.js';
import { compileTemplate } from '../../../../campaign/text/template.js';
import { newTexts as texts } from '../../base/compose-texts.js';
import { dropDraft, keepDraft, keptDraft } from '../../base/kept-draft.js';
import { overview, serverNow } from '../../base/live.js';
import { session } from '../../base/session.js';
import { useCheck, useFirstCheck } from './check.js';
import { campaignOf, type Draft, EMPTY, keptOf, restored, startOf } from './draft.js';
import { type ChosenList, recordsOf } from './list.js';

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
  const lanes = overview.value?.lanes ?? session.value?.services.map(({ lane }) => lane) ?? [];
  /** Empty: none is chosen, and there are several. */
  const lane = draft.lane || (lanes.length === 1 && lanes[0]) || '';
  /** `again` is about the campaign as it was. */
  const change = (changes: Partial<Draft>): void =>
    setDraft((before) => ({ ...before, again: false, ...changes }));
  const { sendAt: _sendAt, zone: _zone, ...unscheduled } = campaignOf(draft);
  /** The check of the beginning, and that of the whole list. */
  const first = useFirstCheck(list, { ...unscheduled, sender: 'Sender' }, draft.countryColumn === '');
  const head = list !== null && first.key?.startsWith(list.key) ? first.data : null;
  /** The draft as the API takes it, with the column of countries that the first check has found. */
  const countryColumn = draft.countryColumn || head?.countryColumn || '';
  const campaign = campaignOf({ ...draft, countryColumn });
  const columns = head?.columns ?? [];
  const hasText = draft.message.trim() !== '';
  const compiled = compileTemplate(draft.message, columns);
  /** What is wrong with the message, as the server would say it. */
  const messageProblem = !hasText || columns.length === 0 || compiled.ok ? null : compiled.reason;
  const sender = draft.sender || session.value?.defaults.sender || '';
  const checked = checkSender(sender);
  const senderProblem = draft.sender !== '' && checked.kind === 'invalid' ? checked.reason : null;
  const start = startOf(draft, serverNow());
  /** What a check of the whole list still needs, in the order of the page; null: nothing. */
  const missing =
    (list === null && texts.needsList) ||
    (!hasText && texts.needsText) ||
    (lanes.length > 1 && lane === '' && texts.needsLane) ||
    (senderProblem ?? messageProblem ?? ('problem' in start ? start.problem : null));
  const whole = useCheck(list, campaign, missing === null && columns.length > 0);
  const isChecked = whole.preview !== null && whole.isCurrent;
  /** What the server knows best about the list as it is, and whether it has read all of it. */
  const preview = isChecked ? whole.preview : head;
  const isWhole = isChecked || list?.isWhole === true;
  const records = useMemo(() => recordsOf(list?.head ?? ''), [list]);
  return {
    draft,
    change,
    list,
    setList,
    lanes,
    lane,
    campaign,
    sender,
    senderProblem,
    messageProblem,
    missing,
    records,
    first,
    whole,
    preview,
    isWhole,
    startOver: kept === null && list === null ? null : startOver,
  };
}
