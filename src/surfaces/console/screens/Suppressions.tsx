import { useState } from 'preact/hooks';
import { listTexts } from '../base/list-texts.js';
import { pagesOf } from '../base/pages.js';
import { session } from '../base/session.js';
import { countText } from '../base/times.js';
import { CommandButton } from '../parts/CommandDialog.js';
import { PagedTable } from '../parts/Table.js';
import { Time } from '../parts/Time.js';
import { Title } from '../parts/Title.js';

const loadSuppressionOperations = pagesOf('listSuppressionOperations', ({ operations }) => operations);

const texts = listTexts.suppressions;

/** Each change of the suppression lists, which can be undone. The numbers themselves are found one by one. */
export function Suppressions() {
  const [version, setVersion] = useState(0);
  const onDone = (): void => setVersion(version + 1);
  const lane = session.value?.lanes?.[0];
  return (
    <>
      <Title text={texts.title} />
      <p class="quiet">{texts.about}</p>
      <PagedTable
        caption={texts.title}
        isCaptionHidden
        empty={texts.none}
        version={version}
        actions={
          <CommandButton
            command="addSuppressions"
            input={{ ...(lane !== undefined && { lane }) } as never}
            label={texts.add}
            fields={['numbers', 'country', 'reason']}
            shown={{ numbers: { about: texts.numbersAbout } }}
            outcome={({ added }) => texts.added(added)}
            onDone={onDone}
          />
        }
        load={loadSuppressionOperations}
        rowKey={({ id }) => id}
        columns={[
          { title: texts.at, isName: true, cell: ({ createdAt }) => <Time at={createdAt} /> },
          {
            title: texts.change,
            cell: ({ change, numberCount }) => `${countText(numberCount)} ${texts.changes[change]}`,
          },
          { title: texts.list, cell: (operation) => operation.lane ?? texts.allLanes },
          { title: texts.reason, cell: ({ reason }) => reason ?? '' },
          { title: texts.source, cell: ({ source }) => source },
          { title: texts.by, cell: ({ actor }) => actor.name },
          {
            title: listTexts.outboxes.commands,
            cell: ({ id, change, undone, lane: of, numberCount }) =>
              undone === null ? (
                <CommandButton
                  command="undoSuppressionOperation"
                  input={{ id }}
                  lane={of ?? undefined}
                  label={texts.undo}
                  about={`${countText(numberCount)} ${texts.changes[change]}`}
                  question={texts.undoQuestion[change]}
                  outcome={({ changed }) => texts.undoneDone(changed)}
                  onDone={onDone}
                />
              ) : (
                <span class="quiet">{texts.undone(undone.numberCount)}</span>
              ),
          },
        ]}
      />
    </>
  );
}
