import type { ComponentType } from 'preact';
import { useState } from 'preact/hooks';
import { compileTemplate } from '../../../../campaign/template.js';
import { call } from '../../base/api.js';
import { newTexts as texts } from '../../base/compose-texts.js';
import { serverNow } from '../../base/live.js';
import { useLoaded } from '../../base/loaded.js';
import { mayRun, session } from '../../base/session.js';
import { Section } from '../../parts/Section.js';
import { Title } from '../../parts/Title.js';
import { CheckStep } from './CheckStep.js';
import { useCheck, useFirstCheck } from './check.js';
import { campaignOf, type Draft, EMPTY, startOf } from './draft.js';
import { ListStep } from './ListStep.js';
import type { ChosenList } from './list.js';
import './new.css';
import { Phone } from './Phone.js';
import type { Page } from './page.js';
import { SendStep } from './SendStep.js';
import { TextStep } from './TextStep.js';
import { WhenStep } from './WhenStep.js';

const STEPS: readonly (readonly [title: string, Step: ComponentType<Page>])[] = [
  [texts.list, ListStep],
  [texts.text, TextStep],
  [texts.check, CheckStep],
  [texts.when, WhenStep],
  [texts.send, SendStep],
];

/** Sends a list: choose it, write the text, check both, and send. */
export function NewCampaign() {
  const [draft, setDraft] = useState(EMPTY);
  const [list, setList] = useState<ChosenList | null>(null);
  const lanes = useLanes();
  const change = (changes: Partial<Draft>): void => setDraft((before) => ({ ...before, ...changes }));
  const lane = draft.lane || (lanes.length > 1 ? lanes[0] : '');
  const campaign = campaignOf({ ...draft, lane: lane ?? '' });
  const { sendAt: _sendAt, zone: _zone, ...unscheduled } = campaign;
  const first = useFirstCheck(list, { sender: 'Sender', ...unscheduled });
  const columns = first.data?.columns ?? [];
  const hasText = draft.message.trim() !== '';
  const compiled = compileTemplate(draft.message, columns);
  const messageProblem = !hasText || columns.length === 0 || compiled.ok ? null : compiled.reason;
  const isReady =
    hasText && columns.length > 0 && messageProblem === null && 'at' in startOf(draft, serverNow());
  const whole = useCheck(list, campaign, isReady);
  const isChecked = whole.preview !== null && whole.isCurrent;
  const preview = isChecked ? whole.preview : first.data;
  const isWhole = isChecked || list?.isWhole === true;
  const page = {
    ...{ draft, change, list, setList, lanes, campaign, messageProblem },
    ...{ first, whole, preview, isWhole },
  };
  return (
    <>
      <Title text={texts.title} />
      <div class="new">
        <div class="stack">
          {STEPS.map(([title, Step], at) => (
            <Section
              key={title}
              class="panel stack"
              title={
                <>
                  <span class="badge">{at + 1}</span> {title}
                </>
              }
            >
              <Step {...page} />
            </Section>
          ))}
        </div>
        <Phone {...page} />
      </div>
    </>
  );
}

/** The names of the lanes that the key may use. */
function useLanes(): readonly string[] {
  const { data } = useLoaded('lanes', async (signal) =>
    mayRun('listLanes') ? (await call('listLanes', {}, { signal })).lanes.map(({ name }) => name) : null,
  );
  return data ?? session.value?.lanes ?? [];
}
