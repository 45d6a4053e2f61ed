import { useRef, useState } from 'preact/hooks';
import { ApiError, call } from '../../base/api.js';
import { newTexts as texts } from '../../base/compose-texts.js';
import { staleBecause } from '../../base/live.js';
import { texts as pageTexts, recipientsText } from '../../base/texts.js';
import { countText } from '../../base/times.js';
import { notify } from '../../parts/Announcer.js';
import { Facts } from '../../parts/Facts.js';
import { FormField, TEXT } from '../../parts/Form.js';
import { Time, useNow } from '../../parts/Time.js';
import { Progress } from './CheckStep.js';
import { problemOf } from './check.js';
import { type Preview, startOf } from './draft.js';
import { inWhole } from './list.js';
import type { Page } from './page.js';
import { upload } from './upload.js';

interface SendProps extends Page {
  readonly campaign: Readonly<Record<string, unknown>>;
}

/** One key for each page: however often its request is repeated, it creates one campaign. */
const newKey = (): string =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');

/** What became of the request. */
type Sent =
  | { readonly kind: 'created' | 'existing'; readonly id: string; readonly count: number }
  | { readonly kind: 'repeated'; readonly id: string };

/** A summary of everything that matters, a test to one's own phone, and the button that sends. */
export function SendStep(page: SendProps) {
  const { whole, list, campaign, draft, change } = page;
  const [key, setKey] = useState(newKey);
  const [typed, setTyped] = useState('');
  const [progress, setProgress] = useState<number | null>(null);
  const [error, setError] = useState<string | null>(null);
  const [sent, setSent] = useState<Sent | null>(null);
  const running = useRef<AbortController | null>(null);
  const now = useNow(10_000);
  const { preview } = whole;
  if (sent !== null) return <Outcome {...page} sent={sent} close={() => setSent(null)} />;
  if (preview === null || list === null) return <p class="quiet">{texts.sendAbout}</p>;
  const { recipientCount, digest } = preview;
  const start = startOf(draft, now);
  const refusal = preview.refusal?.code;
  const isReady =
    whole.isCurrent &&
    refusal === undefined &&
    'at' in start &&
    recipientCount > 0 &&
    staleBecause.value === null;
  const isTyped = typed.replace(/[\s,.’']/g, '') === String(recipientCount);
  const send = async (): Promise<void> => {
    const controller = new AbortController();
    running.current = controller;
    setError(null);
    setProgress(0);
    try {
      const created = await upload('uploadCampaign', {
        campaign: { ...campaign, expect: { digest, recipientCount } },
        list: await inWhole(list, controller.signal),
        idempotencyKey: key,
        signal: controller.signal,
        onProgress: setProgress,
      });
      setSent({
        kind: created.existing ? 'existing' : 'created',
        id: created.id,
        count: created.recipientCount,
      });
      setKey(newKey());
      setTyped('');
    } catch (thrown) {
      if (thrown instanceof ApiError && thrown.code === 'repeated')
        setSent({ kind: 'repeated', id: String(thrown.detail['campaign'] ?? '') });
      else {
        const problem = problemOf(thrown);
        if (problem === undefined) notify(texts.cancelled);
        else setError(problem);
      }
    } finally {
      setProgress(null);
    }
  };
  return (
    <>
      <Summary preview={preview} {...page} />
      {refusal !== undefined && (
        <p class="note bad" role="status">
          {texts.refusals[refusal]}{' '}
          {refusal === 'repeated' && (
            <>
              {preview.refusal?.campaign && (
                <a href={`/console/campaigns/${preview.refusal.campaign}`}>{texts.openIt}</a>
              )}{' '}
              <button type="button" onClick={() => change({ again: true })}>
                {texts.again}
              </button>
            </>
          )}
        </p>
      )}
      <TestSend {...page} preview={preview} />
      <form
        class="row send"
        onSubmit={(event) => {
          event.preventDefault();
          if (isReady && isTyped) void send();
        }}
      >
        <FormField
          name="typed"
          field={TEXT}
          shown={{
            label: texts.type(countText(recipientCount)),
            about: whole.isCurrent ? texts.typeAbout : texts.outdated,
            inputMode: 'numeric',
          }}
          value={typed}
          onChange={(value) => setTyped(String(value ?? ''))}
        />
        <button type="submit" class="primary" disabled={!isReady || !isTyped || progress !== null}>
          {draft.isLater ? texts.schedule(recipientCount) : texts.submit(recipientCount)}
        </button>
      </form>
      {staleBecause.value !== null && <p class="error">{pageTexts.disabled[staleBecause.value]}</p>}
      {progress !== null && (
        <>
          <Progress label={texts.sending} part={progress} onCancel={() => running.current?.abort()} />
          <p class="quiet">{texts.sendingAbout}</p>
        </>
      )}
      {error !== null && (
        <p class="error" role="alert">
          {error}
        </p>
      )}
    </>
  );
}

/** Everything that matters before a campaign is sent, in one place. */
function Summary({ preview, draft }: Page & { readonly preview: Preview }) {
  const { recipientCount, duplicates, invalid, suppressed, sentBefore, cost, requests, segments } = preview;
  const { lane, sender, sendAt, zone, eta, completion } = preview;
  const left = [
    ...(duplicates > 0 ? [texts.duplicatesText(duplicates)] : []),
    ...(invalid > 0 && draft.skipInvalid ? [texts.invalidText(invalid)] : []),
  ];
  const again = sentBefore?.recipientCount ?? 0;
  const money = cost === null ? texts.noPrices : `${countAmount(cost.total)} ${cost.currency}`;
  return (
    <Facts
      facts={[
        [texts.audience, <strong key="audience">{recipientsText(recipientCount)}</strong>],
        [texts.from, `${sender} · ${texts.lane.toLowerCase()} ${lane}`],
        [texts.leftOut, left.length === 0 ? texts.leftOutNone : left.join(', ')],
        [texts.suppressed, countText(suppressed)],
        [
          texts.sentBefore,
          sentBefore?.unchecked ??
            (again === 0
              ? countText(0)
              : texts.sentBeforeText(
                  again,
                  (sentBefore?.campaigns ?? []).map(({ name }) => name).join(', '),
                )),
        ],
        [texts.cost, `${money} · ${texts.costText(requests.total, segments.total)}`],
        [texts.start, sendAt === null ? texts.startNow : <Time key="start" at={sendAt} zone={zone} />],
        [texts.finish, rangeOf(eta ?? completion, zone)],
      ]}
    />
  );
}

/** `between 14:40 and 15:10`, as far as it is known. */
function rangeOf(range: Preview['eta'], zone: string | null) {
  if (range === null) return texts.finishUnknown;
  const { earliest, latest, reason } = range;
  if (latest === null) return reason ?? texts.finishUnknown;
  return (
    <>
      <Time at={earliest} zone={zone} />–<Time at={latest} zone={zone} />
    </>
  );
}

const countAmount = (amount: string): string => amount.replace(/^\d+/, (whole) => countText(Number(whole)));

/** Sends the message of the first row to a phone of one's own. */
function TestSend({ campaign, preview, rows, columns, draft }: SendProps & { readonly preview: Preview }) {
  const [to, setTo] = useState('');
  const [result, setResult] = useState<{ readonly id: string } | { readonly error: string } | null>(null);
  const [isBusy, setBusy] = useState(false);
  const send = async (): Promise<void> => {
    const row = rows.find(({ line }) => line === preview.samples[0]?.line) ?? rows[0];
    const values = Object.fromEntries(columns.map((column, at) => [column, row?.fields[at] ?? '']));
    const { lane, sender, message } = campaign;
    setBusy(true);
    try {
      const created = await call('createCampaign', {} as never, {
        body: {
          lane,
          sender,
          message,
          again: true,
          country: draft.country || undefined,
          name: `Test of ${draft.name || 'a campaign'}`,
          recipients: [{ ...values, to: to.trim(), reference: undefined }],
        },
      });
      setResult(created.suppressed > 0 ? { error: texts.testSuppressed } : { id: created.id });
    } catch (thrown) {
      setResult({ error: problemOf(thrown) ?? '' });
    } finally {
      setBusy(false);
    }
  };
  return (
    <form
      class="row send"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <FormField
        name="test-to"
        field={TEXT}
        shown={{ label: texts.testTo, about: texts.testAbout, inputMode: 'tel', placeholder: '+44…' }}
        value={to}
        error={result && 'error' in result ? result.error : undefined}
        onChange={(value) => setTo(String(value ?? ''))}
      />
      <button type="submit" disabled={isBusy || to.trim() === ''}>
        {texts.testSend}
      </button>
      <p role="status">
        {result && 'id' in result && (
          <a href={`/console/campaigns/${result.id}`}>{texts.testSent(result.id)}</a>
        )}
      </p>
    </form>
  );
}

interface OutcomeProps extends SendProps {
  readonly sent: Sent;
  close(): void;
}

/** The campaign that this page has created, or that someone had created before. */
function Outcome({ sent, change, close }: OutcomeProps) {
  const text =
    sent.kind === 'created'
      ? texts.sent(sent.count)
      : sent.kind === 'existing'
        ? texts.existing
        : texts.repeated;
  return (
    <div class={`note ${sent.kind === 'created' ? 'good' : 'warning'}`} role="status">
      <p>
        <strong>{text}</strong>
      </p>
      <p class="row">
        <a class="button primary" href={`/console/campaigns/${sent.id}`} ref={(link) => link?.focus()}>
          {texts.openIt}
        </a>
        {sent.kind === 'repeated' && (
          <button
            type="button"
            onClick={() => {
              change({ again: true });
              close();
            }}
          >
            {texts.again}
          </button>
        )}
      </p>
    </div>
  );
}
