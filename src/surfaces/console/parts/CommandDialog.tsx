import type { ComponentChildren } from 'preact';
import { useId, useRef, useState } from 'preact/hooks';
import { ApiError, call, commandOf, type Input, type Name, type Output } from '../base/api.js';
import { staleBecause } from '../base/live.js';
import { mayRun } from '../base/session.js';
import { texts } from '../base/texts.js';
import { notify } from './Announcer.js';
import { Form, FormField, type Shown, TEXT, type Values } from './Form.js';

export interface CommandProps<Op extends Name> {
  readonly command: Op;
  readonly input: Input<Op>;
  /** The lane that it is about: a key that is limited to others does not see it. */
  readonly lane?: string | undefined;
  /** The button; default: the title of the operation. */
  readonly label?: string;
  /** What a screen reader says besides the label, such as the name of a row. */
  readonly about?: string;
  readonly tone?: 'primary' | 'danger';
  /** What the dialog asks before it runs; without it and without fields, it runs at once. */
  readonly question?: ComponentChildren;
  /** The count that the person types before it runs. */
  readonly expect?: number | undefined;
  readonly expectLabel?: string;
  /** Fields of the operation that the dialog asks for. */
  readonly fields?: readonly string[];
  readonly shown?: Readonly<Record<string, Shown>>;
  readonly initial?: Values;
  /** What happened, in a sentence. */
  outcome(output: Output<Op>): string;
  onDone?(output: Output<Op>): void;
}

/**
 * The button of an operation, and the dialog that it opens if something is to be asked. The focus returns to the button. It is not
 * there at all if the key may not run the operation, and disabled while the page does not know the current state.
 */
export function CommandButton<Op extends Name>(props: CommandProps<Op>) {
  const {
    command,
    input,
    lane,
    label = commandOf(command).title,
    about,
    tone,
    question,
    fields = [],
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
    notify(props.outcome(output), 'good');
    props.onDone?.(output);
  };
  const runAtOnce = async (): Promise<void> => {
    setBusy(true);
    try {
      await run({});
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      notify(error.message, 'bad');
    } finally {
      setBusy(false);
    }
  };
  const ask = (): void => {
    setOpen(true);
    dialog.current?.showModal();
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
        onClick={asks ? ask : runAtOnce}
      >
        {asks ? `${label}…` : label}
        {about && <span class="unseen">{about}</span>}
      </button>
      {asks && (
        <Dialog title={label} dialog={dialog} onClose={() => setOpen(false)}>
          {isOpen && (
            <Asked {...props} fields={fields} label={label} run={run} close={() => dialog.current?.close()} />
          )}
        </Dialog>
      )}
    </>
  );
}

interface AskedProps<Op extends Name> extends CommandProps<Op> {
  readonly fields: readonly string[];
  readonly label: string;
  run(values: Values): Promise<void>;
  close(): void;
}

/** The question, the count to type, and the fields. */
function Asked<Op extends Name>(props: AskedProps<Op>) {
  const { command, question, expect, expectLabel, fields, shown, initial, tone, label, run, close } = props;
  const [typed, setTyped] = useState('');
  const [isWrong, setWrong] = useState(false);
  const runIfRight = async (values: Values): Promise<void> => {
    const isRight = expect === undefined || typed.replace(/[\s,.’']/g, '') === String(expect);
    setWrong(!isRight);
    if (isRight) await run(values);
  };
  const form = {
    command,
    fields,
    shown,
    initial,
    tone,
    submit: label,
    onSubmit: runIfRight,
    onCancel: close,
  };
  return (
    <Form {...form}>
      {question !== undefined && <div>{question}</div>}
      {expect !== undefined && (
        <FormField
          name="expect"
          field={TEXT}
          shown={{ label: expectLabel ?? texts.typeCount(expect), inputMode: 'numeric' }}
          value={typed}
          error={isWrong ? texts.wrongCount(expect) : undefined}
          onChange={(value) => setTyped(String(value ?? ''))}
        />
      )}
    </Form>
  );
}

interface DialogProps {
  readonly title: string;
  readonly dialog: { readonly current: HTMLDialogElement | null };
  readonly onClose?: () => void;
  readonly children: ComponentChildren;
}

/** A native dialog: it keeps the focus inside, closes with Escape, and gives the focus back. */
export function Dialog({ title, dialog, onClose, children }: DialogProps) {
  const id = useId();
  return (
    <dialog ref={dialog} aria-labelledby={id} onClose={onClose}>
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  );
}
