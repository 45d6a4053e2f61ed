import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { ApiError, call, commandOf, type Input, type Name } from '../base/api.js';
import { COMMAND_TEXTS, type CommandTexts } from '../base/command-texts.js';
import { staleBecause } from '../base/live.js';
import { commandsRun } from '../base/loaded.js';
import { mayRun } from '../base/session.js';
import { texts } from '../base/texts.js';
import { notify } from './Announcer.js';
import { Form, FormField, type Shown, TEXT, type Values } from './Form.js';

interface CommandProps<Op extends Name> {
  readonly command: Op;
  readonly input: Input<Op>;
  /** The lane that it is about: a key that is limited to others does not see it. */
  readonly lane?: string | undefined;
  /** In place of what the table of texts says. */
  readonly label?: string;
  readonly tone?: 'primary' | 'danger' | undefined;
  readonly question?: string;
  /** What a screen reader says besides the label, such as the name of a row. */
  readonly about?: string;
  /** The count that the person types before it runs. */
  readonly expect?: { readonly count: number; readonly label: string };
  /** Fields of the operation that the dialog asks for. */
  readonly fields?: readonly string[];
  readonly shown?: Readonly<Record<string, Shown>>;
}

/**
 * The button of an operation, and the dialog that it opens if something is to be asked. The focus returns to the button. It is not
 * there at all if the key may not run the operation, and disabled while the page does not know the current state.
 */
export function CommandButton<Op extends Name>(props: CommandProps<Op>) {
  const { command, input, lane, about, expect, fields = [], shown } = props;
  const words = COMMAND_TEXTS[command] as CommandTexts<Op> | undefined;
  const {
    label = words?.label ?? commandOf(command).title.split(' ')[0],
    tone = words?.tone,
    question = words?.question,
  } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const [isOpen, setOpen] = useState(false);
  const [isBusy, setBusy] = useState(false);
  if (!mayRun(command, lane)) return null;
  const asks = question !== undefined || fields.length > 0;
  const run = async (values: Values): Promise<void> => {
    // The form has the fields of this operation.
    const output = await call(command, { ...input, ...values } as Input<Op>);
    dialog.current?.close();
    notify(words?.outcome(output) ?? '', 'good');
    commandsRun.value += 1;
  };
  const runAtOnce = async (): Promise<void> => {
    setBusy(true);
    await run({}).catch((error: unknown) => {
      if (!(error instanceof ApiError)) throw error;
      notify(error.message, 'bad');
    });
    setBusy(false);
  };
  const stale = staleBecause.value;
  return (
    <>
      <button
        type="button"
        class={tone}
        disabled={isBusy || stale !== null}
        title={stale === null ? undefined : texts.disabled[stale]}
        aria-haspopup={asks ? 'dialog' : undefined}
        onClick={asks ? () => setOpen(true) : runAtOnce}
      >
        {asks ? `${label}…` : label}
        {about && <span class="unseen"> {about}</span>}
      </button>
      {isOpen && (
        <Dialog title={`${label} ${about ?? ''}`} dialog={dialog} onClose={() => setOpen(false)}>
          <Asked
            command={command}
            fields={fields}
            shown={shown}
            tone={tone}
            submit={label ?? ''}
            question={question}
            expect={expect}
            onSubmit={run}
            onCancel={() => dialog.current?.close()}
          />
        </Dialog>
      )}
    </>
  );
}

interface AskedProps extends Omit<Parameters<typeof Form>[0], 'children'> {
  readonly question: string | undefined;
  readonly expect: CommandProps<Name>['expect'];
}

/** The question, the count to type, and the fields. */
function Asked({ question, expect, onSubmit, ...form }: AskedProps) {
  const [typed, setTyped] = useState('');
  const [isWrong, setWrong] = useState(false);
  const submitIfRight = async (values: Values): Promise<void> => {
    const isRight = expect === undefined || isCount(typed, expect.count);
    setWrong(!isRight);
    if (isRight) await onSubmit(values);
  };
  return (
    <Form {...form} onSubmit={submitIfRight}>
      {question !== undefined && <p>{question}</p>}
      {expect !== undefined && (
        <FormField
          name="expect"
          field={TEXT}
          shown={{ label: expect.label, inputMode: 'numeric' }}
          value={typed}
          error={isWrong ? texts.wrongCount(expect.count) : undefined}
          onChange={(value) => setTyped(String(value ?? ''))}
        />
      )}
    </Form>
  );
}

/** Whether a person has typed this count, however they separate its thousands. */
export const isCount = (typed: string, count: number): boolean =>
  typed.replace(/[\s,.’']/g, '') === String(count);

interface DialogProps {
  readonly title: string;
  readonly dialog?: { current: HTMLDialogElement | null };
  onClose(): void;
  readonly children: ComponentChildren;
}

/** A native dialog: it keeps the focus inside, closes with Escape, and gives the focus back. */
export function Dialog({ title, dialog = { current: null }, onClose, children }: DialogProps) {
  const id = useId();
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} aria-labelledby={id} onClose={onClose}>
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  );
}
