import { useRef, useState } from 'preact/hooks';
import { ApiError, call, type Input } from '../../base/api.js';
import { newTexts as texts } from '../../base/compose-texts.js';
import { labels } from '../../base/labels.js';
import { staleBecause } from '../../base/live.js';
import { problemOf } from '../../base/loaded.js';
import { texts as pageTexts, recipientsText } from '../../base/texts.js';
import { countText, moneyText } from '../../base/times.js';
import { notify } from '../../parts/Announcer.js';
import { isCount } from '../../parts/CommandDialog.js';
import { Facts } from '../../parts/Facts.js';
import { FormField, TEXT } from '../../parts/Form.js';
import { Alert } from '../../parts/Section.js';
import { Time, TimeRange, useNow } from '../../parts/Time.js';
import { Progress } from './CheckStep.js';
import type { Preview } from './check.js';
import { startOf } from './draft.js';
import { inWhole } from './list.js';
import type { Page } from './page.js';
import { upload } from './upload.js';

/** One key for each campaign: however often its request is repeated, it creates one. */
const newKey = (): string =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');

/** What became of the request: `repeated`: someone has sent the same before. */
interface Sent {
  readonly kind: 'created' | 'existing' | 'repeated';
  readonly id: string;
  readonly count?: number;
}

/** A summary of everything that matters, a test to one's own phone, and the button that sends. */
export function SendStep(page: Page) {
  const { whole, list, campaign, draft } = page;
  const [key, setKey] = useState(newKey);
  const [typed, setTyped] = useState('');
  const [progress, setProgress] = useState<number | null>(null);
  const [error, setError] = useState<string | null>(null);
  const [sent, setSent] = useState<Sent | null>(null);
  const running = useRef<AbortController | null>(null);
  const now = useNow(10_000);
  const { preview, isCurrent } = whole;
  if (sent !== null) return <Outcome {...page} sent={sent} close={() => setSent(null)} />;
  if (preview === null || list === null) return <p class="quiet">{texts.sendAbout}</p>;
  const { recipientCount, digest, refusal } = preview;
  const stale = staleBecause.value;
  const isReady = isCurrent && !refusal && 'at' in startOf(draft, now) && recipientCount > 0 && !stale;
  const isTyped = isCount(typed, recipientCount);
  const send = async (): Promise<void> => {
    const controller = new AbortController();
    const { signal } = controller;
    running.current = controller;
    setError(null);
    setProgress(0);
    try {
      const created = await upload('uploadCampaign', {
        campaign: { ...campaign, expect: { digest, recipientCount } },
        list: await inWhole(list, signal),
        idempotencyKey: key,
        signal,
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
      else if (signal.aborted) notify(texts.cancelled);
      else setError(problemOf(thrown));
    } finally {
      setProgress(null);
    }
  };
  return (
    <>
      <Summary {...page} preview={preview} />
      <Refusal {...page} preview={preview} />
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
            about: isCurrent ? texts.typeAbout : texts.outdated,
            inputMode: 'numeric',
          }}
          value={typed}
          onChange={(value) => setTyped(String(value ?? ''))}
        />
        <button type="submit" class="primary" disabled={!isReady || !isTyped || progress !== null}>
          {texts.submit(draft.isLater, recipientCount)}
        </button>
      </form>
      <Alert text={stale && pageTexts.disabled[stale]} />
      <Progress label={texts.sending} part={progress} onCancel={() => running.current?.abort()} />
      {progress !== null && <p class="quiet">{texts.sendingAbout}</p>}
      <Alert text={error} />
    </>
  );
}

type CheckedPage = Page & { readonly preview: Preview };

/** Everything that matters before a campaign is sent, in one place. */
function Summary({ preview, draft }: CheckedPage) {
  const { recipientCount, duplicates, invalid, suppressed, sentBefore, cost, requests, segments } = preview;
  const { lane, sender, sendAt, zone, eta, completion } = preview;
  const left = [
    ...(duplicates > 0 ? [texts.duplicatesText(duplicates)] : []),
    ...(invalid > 0 && draft.skipInvalid ? [texts.invalidText(invalid)] : []),
  ];
  const { recipientCount: again = 0, unchecked = null, campaigns = [] } = sentBefore ?? {};
  const names = campaigns.map(({ name }) => name).join(', ');
  const money = cost === null ? texts.noPrices : moneyText(cost.total, cost.currency);
  const finish = eta ?? completion;
  return (
    <Facts
      facts={[
        [labels.audience, <strong key="audience">{recipientsText(recipientCount)}</strong>],
        [labels.sender, `${sender} · ${labels.lane.toLowerCase()} ${lane}`],
        [texts.leftOut, left.join(', ') || texts.leftOutNone],
        [texts.suppressed, suppressed],
        [texts.sentBefore, unchecked ?? (again === 0 ? 0 : texts.sentBeforeText(again, names))],
        [texts.cost, `${money} · ${texts.costText(requests.total, segments.total)}`],
        [labels.starts, sendAt === null ? texts.startNow : <Time key="start" at={sendAt} zone={zone} />],
        [
          texts.finish,
          finish?.latest ? (
            <TimeRange key="finish" {...finish} zone={zone} />
          ) : (
            (finish?.reason ?? texts.finishUnknown)
          ),
        ],
      ]}
    />
  );
}

/** Why the server would refuse the campaign, and what can be done. */
function Refusal({ preview: { refusal }, change }: CheckedPage) {
  if (refusal === null) return null;
  return (
    <p class="note bad row" role="status">
      {texts.refusals[refusal.code]}
      {refusal.campaign && <a href={`/console/campaigns/${refusal.campaign}`}>{texts.openIt}</a>}
      {refusal.code === 'repeated' && (
        <button type="button" onClick={() => change({ again: true })}>
          {texts.again}
        </button>
      )}
    </p>
  );
}

/** Sends the message of the first row to a phone of one's own. */
function TestSend({ campaign, preview, draft }: CheckedPage) {
  const [to, setTo] = useState('');
  const [result, setResult] = useState<{ readonly id: string } | { readonly error: string } | null>(null);
  const [isBusy, setBusy] = useState(false);
  const send = async (event: Event): Promise<void> => {
    event.preventDefault();
    const { lane, sender, country } = campaign;
    const given = { lane, sender, country } as Pick<Input<'createCampaign'>, 'lane' | 'sender' | 'country'>;
    setBusy(true);
    try {
      const created = await call('createCampaign', {
        ...given,
        message: preview.samples[0]?.text ?? draft.message,
        name: texts.testName(draft.name),
        again: true,
        recipients: [{ to: to.trim() }],
      });
      setResult(created.suppressed > 0 ? { error: texts.testSuppressed } : { id: created.id });
    } catch (thrown) {
      setResult({ error: problemOf(thrown) });
    }
    setBusy(false);
  };
  return (
    <form class="row send" onSubmit={send}>
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

/** The campaign that this page has created, or that someone had created before. */
function Outcome({ sent: { kind, id, count = 0 }, change, close }: Page & { sent: Sent; close(): void }) {
  const again = (): void => {
    change({ again: true });
    close();
  };
  return (
    <div class={`note ${kind === 'created' ? 'good' : 'warning'}`} role="status">
      <p>
        <strong>{texts.outcomes[kind](count)}</strong>
      </p>
      <p class="row">
        <a class="button primary" href={`/console/campaigns/${id}`} ref={(link) => link?.focus()}>
          {texts.openIt}
        </a>
        {kind === 'repeated' && (
          <button type="button" onClick={again}>
            {texts.again}
          </button>
        )}
      </p>
    </div>
  );
}
