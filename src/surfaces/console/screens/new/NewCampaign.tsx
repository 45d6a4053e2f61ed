import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { compileTemplate } from '../../../../campaign/template.js';
import { call } from '../../base/api.js';
import { newTexts as texts } from '../../base/compose-texts.js';
import { serverNow } from '../../base/live.js';
import { mayRun, session } from '../../base/session.js';
import { Title } from '../../parts/Title.js';
import { CheckStep } from './CheckStep.js';
import { useCheck, useFirstCheck } from './check.js';
import { campaignOf, type Draft, EMPTY, startOf } from './draft.js';
import { ListStep } from './ListStep.js';
import type { ChosenList } from './list.js';
import './new.css';
import { Phone } from './Phone.js';
import type { Page } from './page.js';
import { CsvSplitter, delimiterOf } from './records.js';
import { SendStep } from './SendStep.js';
import { TextStep } from './TextStep.js';
import { WhenStep } from './WhenStep.js';

/** Sends a list: choose it, write the text, check both, and send. */
export function NewCampaign() {
  const [draft, setDraft] = useState(EMPTY);
  const [list, setList] = useState<ChosenList | null>(null);
  const lanes = useLanes();
  const change = (changes: Partial<Draft>): void => setDraft((before) => ({ ...before, ...changes }));
  const campaign = campaignOf({
    ...draft,
    ...(draft.lane === '' && lanes.length > 1 && { lane: lanes[0] ?? '' }),
  });
  const asked = JSON.stringify(campaign);

  // The columns are known before there is a text, and a text that does not fit them yet should not hide what is wrong with the numbers.
  const [columns, setColumns] = useState<readonly string[]>([]);
  const compiled = useMemo(() => compileTemplate(draft.message, columns), [draft.message, columns]);
  const isUsable = draft.message.trim() !== '' && (compiled.ok || columns.length === 0);
  const first = useFirstCheck(
    list,
    JSON.stringify({
      ...campaign,
      ...(!isUsable && { message: '-' }),
      sender: draft.sender || 'Sender',
      sendAt: undefined,
      zone: undefined,
    }),
  );
  useEffect(() => setColumns(first.preview?.columns ?? []), [first.preview]);
  const messageProblem =
    draft.message.trim() === '' || columns.length === 0 || compiled.ok ? null : compiled.reason;
  const isReady =
    draft.message.trim() !== '' &&
    messageProblem === null &&
    columns.length > 0 &&
    'at' in startOf(draft, serverNow());
  const whole = useCheck(list, asked, isReady);
  const delimiter = useMemo(() => (list === null ? ',' : delimiterOf(list.head, columns)), [list, columns]);
  const rows = useMemo(
    () =>
      list === null || columns.length === 0 ? [] : new CsvSplitter(delimiter).push(list.head, true).slice(1),
    [list, columns, delimiter],
  );
  if (!mayRun('uploadCampaign')) return <p>{texts.notAllowed}</p>;
  const known = whole.preview !== null && whole.isCurrent ? whole : first;
  const page: Page = {
    draft,
    change,
    list,
    setList,
    lanes,
    columns,
    delimiter,
    rows,
    messageProblem,
    first,
    whole,
    known,
  };
  return (
    <>
      <Title text={texts.title} />
      <div class="new">
        <div class="stack">
          <Step at={1} title={texts.list}>
            <ListStep {...page} />
          </Step>
          <Step at={2} title={texts.text}>
            <TextStep {...page} />
          </Step>
          <Step at={3} title={texts.check}>
            <CheckStep {...page} />
          </Step>
          <Step at={4} title={texts.when}>
            <WhenStep {...page} />
          </Step>
          <Step at={5} title={texts.send}>
            <SendStep {...page} campaign={campaign} />
          </Step>
        </div>
        <Phone
          message={draft.message}
          sender={draft.sender}
          columns={columns}
          toColumn={known.preview?.toColumn ?? ''}
          rows={rows}
          preview={whole.isCurrent ? whole.preview : null}
        />
      </div>
    </>
  );
}

interface StepProps {
  readonly at: number;
  readonly title: string;
  readonly children: ComponentChildren;
}

function Step({ at, title, children }: StepProps) {
  return (
    <section class="panel stack" aria-labelledby={`step-${at}`}>
      <h2 id={`step-${at}`}>
        <span class="badge">{at}</span> {title}
      </h2>
      {children}
    </section>
  );
}

/** The names of the lanes that the key may use. */
function useLanes(): readonly string[] {
  const [lanes, setLanes] = useState<readonly string[]>(session.value?.lanes ?? []);
  useEffect(() => {
    if (!mayRun('listLanes')) return;
    call('listLanes', {})
      .then((found) => setLanes(found.lanes.map(({ name }) => name)))
      .catch(() => {});
  }, []);
  return lanes;
}
