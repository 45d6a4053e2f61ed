import { useEffect, useState } from 'preact/hooks';
import { ApiError, call, type Output } from '../base/api.js';
import { listTexts } from '../base/list-texts.js';
import { mayRun } from '../base/session.js';
import { CommandButton } from '../parts/CommandDialog.js';
import { PagedTable, Table } from '../parts/Table.js';
import { Time } from '../parts/Time.js';
import { Title } from '../parts/Title.js';

/** Who may use this installation, and which processes work for it. */
export function Keys() {
  const texts = listTexts.keys;
  const [version, setVersion] = useState(0);
  return (
    <>
      <Title text={texts.title} />
      <p class="quiet">{texts.about}</p>
      <PagedTable
        caption={texts.title}
        isCaptionHidden
        empty={texts.none}
        version={version}
        load={async (_, signal) => ({
          rows: (await call('listKeys', {}, { signal })).keys,
          nextCursor: null,
        })}
        rowKey={({ id }) => id}
        columns={[
          {
            title: texts.name,
            isName: true,
            cell: ({ name, id, test }) => (
              <>
                {name} <code class="quiet">{id}</code> {test && <span class="quiet">{texts.test}</span>}
              </>
            ),
          },
          { title: texts.scopes, cell: ({ scopes }) => scopes.join(', ') },
          { title: texts.lanes, cell: ({ lanes }) => lanes?.join(', ') ?? texts.allLanes },
          {
            title: texts.state,
            cell: ({ state }) => (
              <span class={state === 'active' ? undefined : 'bad'}>{texts.states[state]}</span>
            ),
          },
          {
            title: texts.expires,
            cell: ({ expiresAt }) => (expiresAt === null ? texts.never : <Time at={expiresAt} />),
          },
          {
            title: texts.used,
            cell: ({ lastUsedAt }) => (lastUsedAt === null ? texts.never : <Time at={lastUsedAt} />),
          },
          {
            title: listTexts.outboxes.commands,
            cell: ({ id, name }) => (
              <CommandButton
                command="revokeKey"
                input={{ id }}
                tone="danger"
                label="Revoke"
                about={name}
                question={texts.revokeQuestion(name)}
                fields={['cancelCampaigns']}
                shown={{ cancelCampaigns: { label: texts.cancelCampaigns } }}
                outcome={() => texts.revoked(name)}
                onDone={() => setVersion(version + 1)}
              />
            ),
          },
        ]}
      />
      {mayRun('listWorkers') && <Workers />}
    </>
  );
}

function Workers() {
  const texts = listTexts.keys;
  const [workers, setWorkers] = useState<Output<'listWorkers'>['workers'] | null>(null);
  useEffect(() => {
    call('listWorkers', {})
      .then((found) => setWorkers(found.workers))
      .catch((error: unknown) => {
        if (!(error instanceof ApiError)) throw error;
        setWorkers([]);
      });
  }, []);
  return (
    <Table
      caption={texts.workers}
      empty={<span class="warning">{texts.noWorkers}</span>}
      rows={workers}
      rowKey={({ id }) => id}
      columns={[
        { title: texts.host, isName: true, cell: ({ host, pid }) => `${host} ${pid}` },
        { title: texts.roles, cell: ({ roles }) => roles.join(', ') },
        { title: texts.since, cell: ({ since }) => <Time at={since} /> },
      ]}
    />
  );
}
