import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { doneOf } from '../../../operations/words.js';
import { ApiError, call, commandOf, type Input, type Name, type Output } from '../base/api.js';
import { liveCampaigns, staleBecause } from '../base/live.js';
import { commandsRun } from '../base/loaded.js';
import { mayRun } from '../base/session.js';
import { texts } from '../base/texts.js';
import { notify } from './Announcer.js';
import { Form, type FormProps, type Values } from './Form.js';

interface CommandProps<Op extends Name>
  extends Pick<FormProps, 'tone' | 'keep' | 'expect' | 'fields' | 'shown'> {
  readonly command: Op;
  readonly input: Input<Op>;
  /** The lane that it is about: a key that is limited to others does not see it. */
  readonly lane?: string | undefined;
  /** In place of what the row of the operation says. */
  readonly label?: string | undefined;
  readonly question?: ComponentChildren;
  /** What it acts on, such as the name of a row: the title of the dialog says it, and screen readers say it with the label. */
  readonly about?: ComponentChildren;
  /** In place of the message that follows from the operation. */
  readonly done?: string;
  /** The title of the dialog, in place of the label and what it acts on. */
  readonly title?: string | undefined;
  readonly onDone?: (output: Output<Op>) => void;
}

/** Whether two commands do the same. */
const isSame = (one: CommandProps<Name>, other: CommandProps<Name>): boolean =>
  JSON.stringify([one.command, one.input]) === JSON.stringify([other.command, other.input]);

/**
 * The button of an operation, and the dialog that it opens if something is to be asked. The focus returns to the button. It is not
 * there at all if the key may not run the operation, and disabled while the page does not know the current state.
 */
export function CommandButton<Op extends Name>(props: CommandProps<Op>) {
  const { command, lane, about, fields = [] } = props;
  const { label, tone, question } = wordsOf(props);
  /** What the dialog asks, and then does: the page may be about something else by then, such as a lane that closes meanwhile. */
  const [opened, setOpened] = useState<CommandProps<Op> | null>(null);
  const [isBusy, setBusy] = useState(false);
  if (!mayRun(command, lane)) return null;
  const asks = question !== undefined || fields.length > 0;
  const runAtOnce = async (): Promise<void> => {
    setBusy(true);
    await run(props, {}).catch((error: unknown) => {
      if (!(error instanceof ApiError)) throw error;
      notify(error.message, 'bad');
    });
    setBusy(false);
  };
  const isStale = staleBecause.value !== null;
  return (
    <>
      <button
        type="button"
        class={tone}
        disabled={isBusy || isStale}
        title={isStale ? texts.disabled : undefined}
        aria-haspopup={asks ? 'dialog' : undefined}
        onClick={asks ? () => setOpened(props) : runAtOnce}
      >
        {asks ? `${label}…` : label}
        {about && <span class="unseen"> {about}</span>}
      </button>
      {opened && (
        // While it does the same, its counts follow those of the page.
        <CommandDialog {...(isSame(opened, props) ? props : opened)} onClose={() => setOpened(null)} />
      )}
    </>
  );
}

/** What stands on the button of a command, and what its dialog asks. */
function wordsOf<Op extends Name>({ command, label, tone, question }: CommandProps<Op>) {
  const { title, button, question: usual } = commandOf(command);
  return {
    label: label ?? button?.label ?? title.replace(/ .*/, ''),
    tone: tone ?? button?.tone,
    question: question ?? usual,
  };
}

async function run<Op extends Name>(
  { command, input, about, done, onDone }: CommandProps<Op>,
  values: Values,
  close?: () => void,
): Promise<void> {
  // The form has the fields of this operation.
  const given = { ...input, ...values } as Input<Op>;
  const output = await call(command, given);
  close?.();
  // People need no id of what they see by its name.
  const campaign = liveCampaigns.value.get(String(Object(given).id))?.status.name;
  const name = campaign ?? (typeof about === 'string' ? about : undefined);
  const said = done ?? doneOf(command)?.text(output, given, name);
  notify(said ?? texts.done(commandOf(command).title), 'good');
  commandsRun.value += 1;
  onDone?.(output);
}

function CommandDialog<Op extends Name>(props: CommandProps<Op> & Pick<DialogProps, 'onClose'>) {
  const { command, about, expect, fields, shown, keep, onClose } = props;
  const { label, tone, question } = wordsOf(props);
  const title = props.title ?? (about === undefined ? label : [label, ': ', about]);
  const dialog = useRef<HTMLDialogElement>(null);
  const close = (): void => dialog.current?.close();
  return (
    <Dialog title={title} dialog={dialog} onClose={onClose}>
      <Form
        {...{ command, fields, shown, tone, expect, keep }}
        submit={label}
        onSubmit={(values) => run(props, values, close)}
        onCancel={close}
      >
        {question !== undefined && <div class="stack">{question}</div>}
      </Form>
    </Dialog>
  );
}

interface DialogProps {
  readonly title: ComponentChildren;
  readonly dialog?: { current: HTMLDialogElement | null };
  onClose(): void;
  readonly children: ComponentChildren;
}

/** A native dialog: it keeps the focus inside, closes with Escape, and gives the focus back. */
export function Dialog({ title, dialog = { current: null }, onClose, children }: DialogProps) {
  const id = useId();
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} class="panel" aria-labelledby={id} onClose={onClose}>
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  );
}
