import { useState } from 'preact/hooks';
import { ApiError, call, HOME } from '../base/api.js';
import { excelLine, saveFile } from '../base/csv-file.js';
import { useFilters } from '../base/filters.js';
import { listTexts } from '../base/list-texts.js';
import { hasOneLane, recentEvents } from '../base/live.js';
import { problemOf, useLoaded, useSlowly } from '../base/loaded.js';
import { type LoadedPage, type RowOf, readPage } from '../base/pages.js';
import { labelOf } from '../base/texts.js';
import { notify } from '../parts/Announcer.js';
import { Choice } from '../parts/Form.js';
import { NumberFilter } from '../parts/NumberFilter.js';
import { Title } from '../parts/Section.js';
import { type Column, PagedTable } from '../parts/Table.js';
import { PhoneNumber, Time } from '../parts/Time.js';

const words = listTexts.replies;
type Reply = RowOf<'listInbound'>;

/** What people have answered, to which campaign, and who wants no more messages. */
export function Replies() {
  const [{ campaign = '' }] = useFilters();
  const [number, setNumber] = useState('');
  const newest = recentEvents.value.find(({ type }) => type === 'inbound.received')?.id ?? '';
  const version = useSlowly(newest);
  return (
    <>
      <Title text={labelOf('replies')} />
      <section class="stack">
        <p class="quiet">{words.about}</p>
        <PagedTable
          operation="listInbound"
          caption={labelOf('replies')}
          rowKey={keyOf}
          actions={[
            <CampaignFilter key="campaign" />,
            <NumberFilter key="number" onChange={setNumber} />,
            number === '' && <Save key="save" campaign={campaign} />,
          ]}
          load={number === '' ? undefined : (signal) => repliesOf(number, campaign, signal)}
          version={version + number}
          empty={campaign + number === '' ? words.none : words.noneMatch}
          columns={replyColumns()}
        />
      </section>
    </>
  );
}

export const keyOf = ({ lane, messageId }: Reply): string => `${lane} ${messageId}`;

/** The columns of a table of replies. `withNumber`: for a table about several numbers. */
export function replyColumns(withNumber = true): readonly Column<Reply>[] {
  return [
    [labelOf('received'), ({ receivedAt }) => <Time at={receivedAt} />],
    ...(withNumber ? [FROM] : []),
    [labelOf('reply'), (reply) => <Said {...reply} />],
    [labelOf('campaign'), AnswerTo],
    ...(hasOneLane() ? [] : [LANE]),
  ];
}
const FROM: Column<Reply> = [labelOf('from'), ({ from }) => <PhoneNumber number={from} />];
const LANE: Column<Reply> = [labelOf('lane'), ({ lane }) => lane];

/** What a reply has changed, in words; null: nothing. */
function changeOf({ effect }: Reply): string | null {
  if (effect?.wish === 'stop') return effect.operation === null ? words.notStopped : words.stopped;
  return effect?.wish === 'start' && effect.isNew ? words.started : null;
}

/** The text, and what it has changed. */
function Said(reply: Reply) {
  const { text, effect } = reply;
  const change = changeOf(reply);
  return (
    <div>
      <p class="text">{text}</p>
      {change !== null && (
        <p>
          <span class={`badge ${effect?.wish === 'stop' ? 'bad' : 'good'}`}>{change}</span>{' '}
          {effect?.wish === 'stop' && effect.inFlightCount > 0 && (
            <span class="quiet">{words.onTheWay(effect.inFlightCount)}</span>
          )}
        </p>
      )}
    </div>
  );
}

/** The message that a reply answers. */
const answerTo = ({ lastSent, campaignName }: Reply): string =>
  lastSent === null
    ? '–'
    : (campaignName ?? (lastSent.campaign ? words.gone : words.message(lastSent.outbox ?? '')));

function AnswerTo(reply: Reply) {
  const { lastSent, campaignName } = reply;
  if (campaignName === null) return <>{answerTo(reply)}</>;
  return <a href={`${HOME}/campaigns/${lastSent?.campaign}`}>{campaignName}</a>;
}

/** What one number has answered. */
async function repliesOf(number: string, campaign: string, signal: AbortSignal): Promise<LoadedPage<Reply>> {
  const { replies } = await call('findNumber', { number }, { signal });
  const rows = replies.filter(({ lastSent }) => campaign === '' || lastSent?.campaign === campaign);
  return { rows, nextCursor: null };
}

/** All replies, or those to one campaign, as a file for Excel. */
async function saveReplies(campaign: string): Promise<void> {
  const lines = [excelLine(['received', 'from', 'reply', 'campaign', 'change', 'lane'].map(labelOf))];
  const { signal } = new AbortController();
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: LoadedPage<Reply> = await readPage('listInbound', { campaign, cursor }, {}, signal);
    for (const reply of page.rows) {
      const { receivedAt, from, text, lane } = reply;
      lines.push(excelLine([receivedAt, from, text, answerTo(reply), changeOf(reply) ?? '', lane]));
    }
    cursor = page.nextCursor;
  }
  saveFile(`${labelOf('replies')}.csv`, lines);
}

function Save({ campaign }: { readonly campaign: string }) {
  const [isBusy, setBusy] = useState(false);
  const save = async (): Promise<void> => {
    setBusy(true);
    await saveReplies(campaign).catch((error: unknown) => notify(problemOf(error), 'bad'));
    setBusy(false);
  };
  return (
    <button type="button" class="end" disabled={isBusy} onClick={save}>
      ⤓ {words.save}
    </button>
  );
}

/** As many replies show which campaigns are answered. */
const SEEN = 200;

/** The choice among the campaigns that were answered of late, and the one that a link has named. */
function CampaignFilter() {
  const [{ campaign = '' }, change] = useFilters();
  const { data } = useLoaded(campaign, async (signal) => {
    const { messages } = await call('listInbound', { limit: SEEN }, { signal });
    const found = messages.flatMap(({ lastSent, campaignName }) =>
      lastSent?.campaign && campaignName !== null ? [[lastSent.campaign, campaignName] as const] : [],
    );
    const names = new Map(found);
    if (campaign !== '' && !names.has(campaign)) names.set(campaign, await nameOf(campaign, signal));
    return [...names].map(([value, label]) => ({ value, label }));
  });
  return (
    <span class="field">
      <label for="filter-campaign">{labelOf('campaign')}</label>
      <Choice
        id="filter-campaign"
        class="wide"
        options={[{ value: '', label: labelOf('all') }, ...(data ?? [])]}
        value={campaign}
        onChange={({ currentTarget }) => change({ campaign: currentTarget.value })}
      />
    </span>
  );
}

async function nameOf(id: string, signal: AbortSignal): Promise<string> {
  try {
    return (await call('getCampaign', { id }, { signal })).name;
  } catch (error) {
    if (error instanceof ApiError) return words.gone;
    throw error;
  }
}
