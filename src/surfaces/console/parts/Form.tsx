import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { ApiError, commandOf, type Field, type Name } from '../base/api.js';
import { labelOf } from '../base/labels.js';
import { texts } from '../base/texts.js';
import { Alert } from './Section.js';

export type Value = string | number | boolean | readonly string[] | undefined;
export type Values = Readonly<Record<string, Value>>;

/** How a field is shown where the table of commands does not say it well enough for people. */
export interface Shown {
  readonly label?: string;
  /** What stands below the field; default: what the operation says about it. */
  readonly about?: ComponentChildren;
  readonly placeholder?: string;
  readonly options?: readonly { readonly value: string; readonly label: string }[];
  readonly inputMode?: 'numeric' | 'tel' | 'url';
  readonly type?: 'datetime-local';
}

interface FormProps {
  /** The operation whose fields these are. */
  readonly command: Name;
  readonly fields: readonly string[];
  readonly shown?: Readonly<Record<string, Shown>> | undefined;
  readonly submit: string;
  /** Runs the operation. What it throws is shown beside its fields. */
  onSubmit(values: Values): Promise<void>;
  readonly onCancel?: () => void;
  /** Before the fields. */
  readonly children?: ComponentChildren;
  readonly tone?: 'primary' | 'danger' | undefined;
}

/** The form of an operation: fields, their limits, and errors where they belong. */
export function Form(props: FormProps) {
  const { command, fields, shown = {}, submit, onCancel, children, tone = 'primary' } = props;
  const table = commandOf(command).fields;
  const [values, setValues] = useState<Values>({});
  const [error, setError] = useState<ApiError | null>(null);
  const [isBusy, setBusy] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const general =
    error !== null && !fields.some((name) => error.of(name) !== undefined) ? error.message : null;
  useEffect(() => {
    if (error !== null) form.current?.querySelector<HTMLElement>('[aria-invalid=true]')?.focus();
  }, [error]);
  const run = async (event: Event): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      await props.onSubmit(values);
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
      <Alert text={general} />
      <p class="row">
        <button type="submit" class={tone} disabled={isBusy} aria-busy={isBusy}>
          {submit}
        </button>
        {onCancel && (
          <button type="button" onClick={onCancel}>
            {texts.close}
          </button>
        )}
      </p>
    </form>
  );
}

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
  const common = {
    id,
    name,
    'aria-invalid': error !== undefined,
    'aria-describedby': `${id}-error ${id}-about`,
  };
  return (
    <div class={`field${field.type === 'boolean' ? ' check' : ''}`}>
      <label for={id}>
        {label}
        {!field.required && field.in === 'body' && field.type !== 'boolean' && (
          <span class="quiet"> {texts.optional}</span>
        )}
      </label>
      <Control common={common} field={field} shown={shown} value={value} onChange={onChange} />
      <p id={`${id}-error`} class="error">
        {error}
      </p>
      <p id={`${id}-about`} class="quiet">
        {about}
      </p>
    </div>
  );
}

interface ControlProps extends Pick<FieldProps, 'field' | 'value' | 'onChange'> {
  readonly common: { readonly id: string; readonly name: string };
  readonly shown: Shown;
}

function Control({ common, field, shown, value, onChange }: ControlProps) {
  const { options = field.names?.map((name) => ({ value: name, label: name })), type } = shown;
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
  if (options !== undefined)
    return (
      <select {...common} value={text} onChange={take}>
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.label}
          </option>
        ))}
      </select>
    );
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
