import { useRef } from 'preact/hooks';
import { segmentsOf } from '../../../../campaign/text/segments.js';
import { senderWarnings } from '../../../../campaign/text/sender.js';
import { call } from '../../base/api.js';
import { newTexts as texts } from '../../base/compose-texts.js';
import { useLoaded } from '../../base/loaded.js';
import { mayRun } from '../../base/session.js';
import { labelOf } from '../../base/texts.js';
import { moneyText } from '../../base/times.js';
import { notify } from '../../parts/Announcer.js';
import { CommandButton } from '../../parts/CommandDialog.js';
import { FormField, optionsOf, TEXT } from '../../parts/Form.js';
import { useFirstCheck } from './check.js';
import { Entry, UNCHOSEN } from './Entry.js';
import { segmentHint } from './hints.js';
import type { Page } from './page.js';

/** Sender and text, with the columns to insert, and what its characters cost. */
export function TextStep(page: Page) {
  const { draft, change, preview, lanes, sender, senderProblem, messageProblem } = page;
  const { columns = [] } = preview ?? {};
  const message = useRef<HTMLTextAreaElement>(null);
  /** Puts a placeholder where the person writes, or in place of what is selected. */
  const insert = (column: string): void => {
    const area = message.current;
    if (area === null) return;
    area.setRangeText(`{{${column}}}`, area.selectionStart, area.selectionEnd, 'end');
    change({ message: area.value });
    area.focus();
  };
  return (
    <>
      <div class="row">
        <Entry
          {...page}
          name="sender"
          placeholder={sender}
          error={senderProblem ?? undefined}
          about={[texts.senderAbout, ...senderWarnings(sender)].join(' ')}
        />
        <Entry {...page} name="name" />
        {lanes.length > 1 && <Entry {...page} name="lane" options={[UNCHOSEN, ...optionsOf(lanes)]} />}
      </div>
      <Saved {...page} />
      <div class="field">
        <label for="message">{labelOf('message')}</label>
        <textarea
          id="message"
          ref={message}
          rows={4}
          maxLength={20_000}
          value={draft.message}
          aria-invalid={messageProblem !== null}
          aria-describedby="message-error message-hint"
          onInput={(event) => change({ message: event.currentTarget.value })}
        />
        <p id="message-error" class="error" role="status">
          {messageProblem}
        </p>
        <Hint {...page} focus={() => message.current?.focus()} />
        {columns.length > 0 && (
          <p class="row">
            <span class="quiet">{texts.insert}</span>
            {columns.map((column) => (
              <button key={column} type="button" onClick={() => insert(column)}>
                <code>{`{{${column}}}`}</code>
              </button>
            ))}
          </p>
        )}
      </div>
      <SaveText {...page} />
    </>
  );
}

/** The templates of the lane, of which one fills the message. */
function Saved({ draft, change, lane }: Page) {
  const { data } = useLoaded(`templates ${lane}`, async (signal) =>
    lane !== '' && mayRun('listTemplates', lane)
      ? (await call('listTemplates', { lane }, { signal })).templates
      : [],
  );
  if (data === null || data.length === 0) return null;
  const isUsed = ({ message, sender }: (typeof data)[number]): boolean =>
    message === draft.message && (sender ?? draft.sender) === draft.sender;
  const use = (name: unknown): void => {
    const { message = draft.message, sender } = data.find((saved) => saved.name === name) ?? {};
    change({ message, ...(sender && { sender }) });
  };
  return (
    <FormField
      name="template"
      field={TEXT}
      shown={{ label: texts.template, options: [UNCHOSEN, ...optionsOf(data.map(({ name }) => name))] }}
      value={data.find(isUsed)?.name ?? ''}
      onChange={use}
    />
  );
}

/** Saves the message, and its sender, under a name that the person chooses. */
function SaveText({ draft: { message, sender }, lane }: Page) {
  if (message.trim() === '' || lane === '') return null;
  const input = { name: '', message, lane, sender: sender || undefined };
  return (
    <p class="row">
      <CommandButton
        command="putTemplate"
        input={input}
        lane={lane}
        fields={['name']}
        shown={{ name: { about: texts.templateAbout } }}
      />
    </p>
  );
}

/** `This ’ costs 2,140 more segments: replace`. */
function Hint({ draft, change, campaign, list, first, preview, isWhole, focus }: Page & { focus(): void }) {
  const hint = segmentHint(draft.message);
  const { data: simpler } = useFirstCheck(
    // A workbook would be read once more.
    hint && typeof list?.head === 'string' ? list : null,
    hint
      ? { sender: 'Sender', ...campaign, message: hint.other || '-', sendAt: undefined, zone: undefined }
      : {},
  );
  if (hint === null) return null;
  // Of a long list, only the beginning was counted. Without a list, the text as it is counts.
  const counted = first.data && simpler && { of: first.data.recipientCount, now: first.data.segments.total };
  const now = counted?.now ?? segmentsOf(draft.message).segments;
  const extra = now - (counted ? (simpler?.segments.total ?? 0) : segmentsOf(hint.other).segments);
  const share = counted ? (preview?.recipientCount ?? 0) / Math.max(1, counted.of) : 1;
  const count = Math.round(extra * share);
  if (count <= 0) return null;
  const { segmentPrice, currency = null } = preview?.cost ?? {};
  const hasOnePrice = segmentPrice?.min && segmentPrice.min === segmentPrice.max;
  const money = hasOnePrice ? moneyText(String(Number(segmentPrice.min) * count), currency) : null;
  const replace = (): void => {
    change({ message: hint.other });
    notify(texts.replaced, 'good');
    focus();
  };
  return (
    <p id="message-hint" class="note warning" role="status">
      {texts.hint(hint.characters, texts.extra(count, counted !== null && isWhole && share === 1, money))}.{' '}
      {hint.isSimple ? (
        <button type="button" onClick={replace}>
          {labelOf('replace')}
        </button>
      ) : (
        texts.noSimpler
      )}
    </p>
  );
}
