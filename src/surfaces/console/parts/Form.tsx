import type { ComponentChildren, ComponentProps } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { ApiError, commandOf, type Field, type Name } from '../base/api.js';
import { labelOf, texts } from '../base/texts.js';
import { Alert } from './Section.js';

export type Value = string | number | boolean | readonly string[] | undefined;
export type Values = Readonly<Record<string, Value>>;

/** How a field is shown where the table of commands does not say it well enough for people. */
export interface Shown {
  readonly label?: string;
  /** What stands below the field; default: what the operation says about it. */
  readonly about?: ComponentChildren;
  readonly placeholder?: string;
  readonly options?: Options;
  readonly inputMode?: 'numeric' | 'tel' | 'url';
  readonly type?: 'datetime-local' | 'password';
}

export interface FormProps {
  /** The operation whose fields these are. */
  readonly command?: Name;
  readonly fields?: readonly string[] | undefined;
  readonly shown?: Readonly<Record<string, Shown>> | undefined;
  /** The count that the person types before it runs. */
  readonly expect?: { readonly count: number; readonly label: string } | undefined;
  readonly submit: string;
  /** Runs the operation. What it throws is shown beside its fields. */
  onSubmit(values: Values): Promise<void>;
  readonly onCancel?: () => void;
  /** The button that cancels. */
  readonly keep?: string | undefined;
  /** Whether it cannot run now, or why. */
  readonly isDisabled?: boolean | string;
  /** Before the fields. */
  readonly children?: ComponentChildren;
  readonly tone?: 'normal' | 'primary' | 'danger' | undefined;
}

/** The form of an operation: fields, their limits, and errors where they belong. */
export function Form(props: FormProps) {
  const { command, expect, submit, onCancel, keep, isDisabled = false, children, tone = 'primary' } = props;
  const table = command === undefined ? {} : commandOf(command).fields;
  const fields = [...(props.fields ?? []), ...(expect === undefined ? [] : ['typed'])];
  const typedCount: Shown = { label: expect?.label ?? '', inputMode: 'numeric' };
  const shown: Readonly<Record<string, Shown>> = { ...props.shown, typed: typedCount };
  const [values, setValues] = useState<Values>({});
  const [error, setError] = useState<ApiError | null>(null);
  const [isBusy, setBusy] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const isGeneral = error !== null && !fields.some((name) => error.of(name) !== undefined);
  useEffect(() => {
    if (error !== null) form.current?.querySelector<HTMLElement>('[aria-invalid=true]')?.focus();
  }, [error]);
  const run = async (event: Event): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    const { typed, ...given } = values;
    try {
      if (expect !== undefined && !isCount(String(typed), expect.count))
        throw new ApiError(0, { errors: [{ pointer: '/typed', message: texts.wrongCount(expect.count) }] });
      await props.onSubmit(given);
    } catch (thrown) {
      if (!(thrown instanceof ApiError)) throw thrown;
      setError(thrown);
    } finally {
      setBusy(false);
    }
  };
  return (
    <form ref={form} class="stack" onSubmit={run} noValidate>
      {children}
      {fields.map((name) => (
        <FormField
          key={name}
          name={name}
          field={table[name] ?? TEXT}
          shown={shown[name]}
          value={values[name]}
          error={error?.of(name)}
          onChange={(value) => setValues((now) => ({ ...now, [name]: value }))}
        />
      ))}
      <Alert text={isGeneral && error.message} />
      <p class="row">
        <button type="submit" class={tone} disabled={isBusy || isDisabled !== false} aria-busy={isBusy}>
          {submit}
        </button>
        {onCancel && (
          <button type="button" onClick={onCancel}>
            {keep ?? labelOf('close')}
          </button>
        )}
        {typeof isDisabled === 'string' && <span class="quiet">{isDisabled}</span>}
      </p>
    </form>
  );
}

/** Whether a person has typed this count, however they separate its thousands. */
const isCount = (typed: string, count: number): boolean => typed.replace(/[\s,.’']/g, '') === String(count);

/** A required text that is no field of an operation. */
export const TEXT: Field = { in: 'body', type: 'string', required: true };

interface FieldProps {
  readonly name: string;
  readonly field: Field;
  readonly shown?: Shown | undefined;
  readonly value: Value;
  readonly error?: string | undefined;
  onChange(value: Value): void;
}

/** One field with its label, what it means, and what is wrong with it. */
export function FormField({ name, field, shown = {}, value, error, onChange }: FieldProps) {
  const id = useId();
  const { label = labelOf(name), about = field.about } = shown;
  const isOptional = !field.required && field.in === 'body' && field.type !== 'boolean';
  const described = { 'aria-invalid': error !== undefined, 'aria-describedby': `${id}-error ${id}-about` };
  return (
    <div class={`field${field.type === 'boolean' ? ' check' : ''}`}>
      <label for={id}>
        {label}
        {isOptional && <span class="quiet"> {texts.optional}</span>}
      </label>
      <Control common={{ id, name, ...described }} {...{ name, field, shown, value, onChange }} />
      <p id={`${id}-error`} class="error">
        {error}
      </p>
      <p id={`${id}-about`} class="quiet">
        {about}
      </p>
    </div>
  );
}

export type Options = readonly { readonly value: string; readonly label: string }[];
export const optionsOf = <Name extends string>(
  values: readonly Name[],
  labelOf = (name: Name): string => name,
) => values.map((value) => ({ value, label: labelOf(value) }));

/** One of several values. */
export function Choice({ options, ...select }: { options: Options } & ComponentProps<'select'>) {
  return (
    <select {...select}>
      {options.map(({ value, label }) => (
        <option key={value} value={value}>
          {label}
        </option>
      ))}
    </select>
  );
}

function Control({ field, shown = {}, value, onChange, common }: FieldProps & { readonly common: object }) {
  const { options = field.names && optionsOf(field.names), type } = shown;
  const isNumber = field.type === 'integer' || field.type === 'number';
  const text = Array.isArray(value) ? value.join(', ') : String(value ?? field.usual ?? '');
  const take = ({ currentTarget }: { readonly currentTarget: { readonly value: string } }) => {
    const given = currentTarget.value;
    if (given === '') onChange(undefined);
    else if (field.type === 'array') onChange(given.split(/\s*,\s*/));
    else onChange(isNumber ? Number(given) : given);
  };
  if (field.type === 'boolean') {
    const check = (event: Event): void => onChange((event.currentTarget as HTMLInputElement).checked);
    return <input {...common} type="checkbox" checked={value === true} onChange={check} />;
  }
  if (options !== undefined) return <Choice {...common} options={options} value={text} onChange={take} />;
  return (
    <input
      {...common}
      {...(type && { type })}
      value={text}
      maxLength={field.length}
      placeholder={shown.placeholder}
      inputMode={shown.inputMode ?? (isNumber ? 'numeric' : undefined)}
      autoComplete="off"
      onInput={take}
    />
  );
}
