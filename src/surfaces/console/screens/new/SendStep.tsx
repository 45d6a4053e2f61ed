import { useState } from 'preact/hooks';
import { ApiError, call, HOME, type Input, type Output } from '../../base/api.js';
import { newTexts as texts } from '../../base/compose-texts.js';
import { dropDraft } from '../../base/kept-draft.js';
import { hasOneLane, liveCampaigns, serverNow, staleBecause, useLive } from '../../base/live.js';
import { labelOf, texts as pageTexts, recipientsText, stateText } from '../../base/texts.js';
import { moneyText, OWN_ZONE, timeText } from '../../base/times.js';
import { notify } from '../../parts/Announcer.js';
import { Form, type Values } from '../../parts/Form.js';
import { Alert, Facts } from '../../parts/Section.js';
import { Sentence } from '../../parts/Sentence.js';
import { TimeRange, useNow } from '../../parts/Time.js';
import { Progress } from './CheckStep.js';
import type { Preview } from './check.js';
import { type Draft, startOf } from './draft.js';
import type { Page } from './page.js';
import { useUpload } from './upload.js';

/** One key for each campaign: however often its request is repeated, it creates one. */
const newKey = (): string =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');

/** A summary of everything that matters, a test to one's own phone, and the button that sends. */
export function SendStep(page: Page) {
  const { whole, list, campaign, draft, missing } = page;
  const [idempotencyKey] = useState(newKey);
  const [created, setCreated] = useState<Output<'uploadCampaign'> | null>(null);
  const { send, failure: last, ...uploading } = useUpload('uploadCampaign');
  const asked = `${list?.key} ${JSON.stringify(campaign)}`;
  /** What the last attempt asked for: another campaign may not have its problem. */
  const [tried, setTried] = useState('');
  const failure = tried === asked ? last : null;
  const now = useNow();
  const { preview, isCurrent } = whole;
  const start = startOf(draft, now);
  const outcome = created?.outcome === 'created' && draft.isLater ? 'scheduled' : created?.outcome;
  if (created && outcome)
    return (
      <p class="note good row" role="status">
        <strong>{texts[outcome](created.recipientCount, startText(draft, 0))}</strong>
        <OpenIt id={created.id} isFocused />
      </p>
    );
  if (preview === null || list === null) return <p class="quiet">{texts.sendAbout}</p>;
  const { recipientCount, digest } = preview;
  const refusal = preview.refusal ?? (draft.again ? null : repeatedOf(failure?.thrown));
  const reason =
    (staleBecause.value !== null && pageTexts.disabled) ||
    ('problem' in start ? start.problem : missing) ||
    (!isCurrent && texts[whole.progress === null ? 'outdated' : 'checking']);
  return (
    <>
      <Summary {...page} preview={preview} />
      {refusal && <Refusal {...page} {...refusal} preview={preview} />}
      <TestSend {...page} preview={preview} reason={reason} />
      <Form
        expect={{ count: recipientCount, label: pageTexts.typeToConfirm(recipientCount) }}
        submit={texts.submit(draft.isLater, recipientCount)}
        isDisabled={reason || Boolean(refusal) || recipientCount === 0 || uploading.progress !== null}
        onSubmit={async () => {
          setTried(asked);
          const expected = { ...campaign, expect: { digest, recipientCount } };
          const done = await send(list, { campaign: expected, idempotencyKey });
          setCreated(done);
          if (done !== null) dropDraft();
        }}
      />
      <Progress label={texts.sending} {...uploading} />
      {uploading.progress !== null && <p class="quiet">{texts.sendingAbout}</p>}
      {!refusal && <Alert text={failure && (failure.text || texts.cancelled)} />}
    </>
  );
}

type CheckedPage = Page & { readonly preview: Preview };
type Refused = Pick<NonNullable<Preview['refusal']>, 'code' | 'campaign'>;

/** The campaign that someone has created meanwhile with the same list and text. */
const repeatedOf = (thrown: unknown): Refused | null =>
  thrown instanceof ApiError && thrown.code === 'repeated'
    ? { code: 'repeated', campaign: String(thrown.detail['campaign']) }
    : null;

/** `1 Dec 09:00 New York = 1 Dec 14:00 your time`, or why it does not start. */
function startText(draft: Draft, now: number): string {
  const start = startOf(draft, now);
  if ('problem' in start) return start.problem;
  if (start.at === null) return texts.startNow;
  const inZone = timeText(start.at, now, draft.zone);
  return draft.zone === OWN_ZONE ? inZone : `${inZone} ${texts.own(timeText(start.at, now, null))}`;
}

/** Everything that matters before a campaign is sent, in one place. */
function Summary({ preview, draft, records, whole }: CheckedPage) {
  const { recipientCount, duplicates, invalid, suppressed, sentBefore, cost, segments } = preview;
  const { lane, sender, zone, eta, completion, repeats } = preview;
  const rowOf = (line: number): number => records.get(line)?.row ?? line;
  const skipped = draft.skipInvalid ? invalid : 0;
  const repeated = repeats.slice(0, 3).map(({ line, firstLine }) => [rowOf(line), rowOf(firstLine)] as const);
  const left = [
    ...(duplicates > 0 ? [texts.duplicatesText(duplicates, repeated)] : []),
    ...(skipped > 0 ? [texts.problems(skipped)] : []),
  ];
  const { recipientCount: again = 0, unchecked = null, campaigns = [] } = sentBefore ?? {};
  const names = campaigns.map(({ name }) => name).join(', ');
  const money = cost === null ? texts.noPrices : moneyText(cost.total, cost.currency);
  const finish = eta ?? completion;
  return (
    <div class={whole.isCurrent ? undefined : 'quiet'} aria-busy={!whole.isCurrent}>
      <Facts
        facts={[
          [
            labelOf('audience'),
            <span key="audience">
              <strong>{recipientsText(recipientCount)}</strong>{' '}
              {left.length > 0 && texts.leftOut(duplicates + skipped, left)}
            </span>,
          ],
          [labelOf('sender'), hasOneLane() ? sender : `${sender} · ${labelOf('lane').toLowerCase()} ${lane}`],
          [labelOf('suppressed'), suppressed],
          [texts.sentBefore, unchecked ?? (again === 0 ? 0 : texts.sentBeforeText(again, names))],
          [labelOf('costs'), `${money} · ${texts.segments(segments.total)}`],
          [labelOf('starts'), startText(draft, serverNow())],
          [
            labelOf('finishes'),
            finish?.latest ? (
              <TimeRange key="finish" {...finish} zone={zone} />
            ) : (
              (finish?.reason ?? texts.finishUnknown)
            ),
          ],
        ]}
      />
    </div>
  );
}

/** Why the campaign is not sent, and what can be done. */
function Refusal({ code, campaign, change, preview }: Pick<CheckedPage, 'change' | 'preview'> & Refused) {
  return (
    <p class="note bad row" role="status">
      {texts.refusal(code, preview)}
      {campaign && <OpenIt id={campaign} />}
      {code === 'repeated' && (
        <button type="button" onClick={() => change({ again: true })}>
          {texts.again}
        </button>
      )}
    </p>
  );
}

function OpenIt({ id, isFocused = false }: { readonly id: string; readonly isFocused?: boolean }) {
  return (
    <a class="button" href={`${HOME}/campaigns/${id}`} ref={(link) => void (isFocused && link?.focus())}>
      {labelOf('openThatCampaign')}
    </a>
  );
}

/** What has become of the test, if the key may see it. */
function TestResult({ id }: { readonly id: string }) {
  useLive('campaigns', id);
  const { status, waiting } = liveCampaigns.value.get(id) ?? {};
  const [state] =
    Object.entries(status?.counts ?? {}).find(([name, count]) => name !== 'total' && count === 1) ?? [];
  return (
    <span role="status">
      {state && <strong>{texts.testState(stateText(state))}</strong>}{' '}
      {state === 'planned' && waiting && <Sentence waiting={waiting} />}{' '}
      <a href={`${HOME}/campaigns/${id}`}>{texts.testSent(id)}</a>
    </span>
  );
}

/** Sends the message of the first row to a phone of one's own. */
function TestSend({ campaign, preview, draft, reason }: CheckedPage & { readonly reason: string | false }) {
  const [id, setId] = useState<string | null>(null);
  const { lane, sender, country } = campaign;
  const given = { lane, sender, country } as Pick<Input<'createCampaign'>, 'lane' | 'sender' | 'country'>;
  const send = async ({ number }: Values): Promise<void> => {
    const created = await call('createCampaign', {
      ...given,
      message: preview.samples[0]?.text ?? draft.message,
      name: texts.testName(draft.name),
      again: true,
      recipients: [{ to: String(number ?? '').trim() }],
    });
    setId(created.id);
    if (created.suppressed > 0) notify(pageTexts.suppressed, 'bad');
  };
  return (
    <Form
      fields={['number']}
      shown={{
        number: {
          label: labelOf('yourOwnNumber'),
          about: id === null ? texts.testAbout : <TestResult key={id} id={id} />,
          inputMode: 'tel',
          placeholder: '+44…',
        },
      }}
      submit={texts.testSend}
      tone="normal"
      isDisabled={reason}
      onSubmit={send}
    />
  );
}
