import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { ApiError, call, commandOf, type Input, type Name } from '../base/api.js';
import { COMMAND_TEXTS, type CommandTexts } from '../base/command-texts.js';
import { staleBecause } from '../base/live.js';
import { commandsRun } from '../base/loaded.js';
import { mayRun } from '../base/session.js';
import { texts } from '../base/texts.js';
import { notify } from './Announcer.js';
import { Form, type FormProps, type Values } from './Form.js';

interface CommandProps<Op extends Name> extends Pick<FormProps, 'tone' | 'expect' | 'fields' | 'shown'> {
  readonly command: Op;
  readonly input: Input<Op>;
  /** The lane that it is about: a key that is limited to others does not see it. */
  readonly lane?: string | undefined;
  /** In place of what the table of texts says. */
  readonly label?: string | undefined;
  readonly question?: string;
  /** What a screen reader says besides the label, such as the name of a row. */
  readonly about?: string;
}

/**
 * The button of an operation, and the dialog that it opens if something is to be asked. The focus returns to the button. It is not
 * there at all if the key may not run the operation, and disabled while the page does not know the current state.
 */
export function CommandButton<Op extends Name>(props: CommandProps<Op>) {
  const { command, input, lane, about, expect, fields = [], shown } = props;
  const words = COMMAND_TEXTS[command] as CommandTexts<Op> | undefined;
  const { title } = commandOf(command);
  const { label = words?.label ?? title.replace(/ .*/, '') } = props;
  const { tone = words?.tone, question = words?.question } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const [isOpen, setOpen] = useState(false);
  const [isBusy, setBusy] = useState(false);
  if (!mayRun(command, lane)) return null;
  const asks = question !== undefined || fields.length > 0;
  const run = async (values: Values): Promise<void> => {
    // The form has the fields of this operation.
    const output = await call(command, { ...input, ...values } as Input<Op>);
    dialog.current?.close();
    notify(words?.outcome?.(output) ?? texts.done(title), 'good');
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
        <Dialog
          title={about === undefined ? label : `${label}: ${about}`}
          dialog={dialog}
          onClose={() => setOpen(false)}
        >
          <Form
            {...{ command, fields, shown, tone, expect }}
            submit={label}
            onSubmit={run}
            onCancel={() => dialog.current?.close()}
          >
            {question !== undefined && <p>{question}</p>}
          </Form>
        </Dialog>
      )}
    </>
  );
}

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
    <dialog ref={dialog} class="panel" aria-labelledby={id} onClose={onClose}>
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  );
}
