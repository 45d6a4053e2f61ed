import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { ApiError, commandOf, type Field, type Name } from '../base/api.js';
import { texts } from '../base/texts.js';

export type Value = string | number | boolean | readonly string[] | undefined;
export type Values = Readonly<Record<string, Value>>;

/** How a field is shown where the table of commands does not say it well enough for people. */
export interface Shown {
  readonly label?: string;
  /** What stands below the field; default: what the operation says about it. */
  readonly about?: ComponentChildren;
  readonly placeholder?: string;
  readonly isLong?: boolean;
  readonly options?: readonly { readonly value: string; readonly label: string }[];
  readonly inputMode?: 'numeric' | 'tel' | 'url';
  readonly type?: 'datetime-local' | 'date';
}

interface FormProps {
  /** The operation whose fields these are. */
  readonly command: Name;
  readonly fields: readonly string[];
  readonly shown?: Readonly<Record<string, Shown>>;
  readonly initial?: Values;
  readonly submit: string;
  /** Runs the operation. What it throws is shown beside its fields. */
  onSubmit(values: Values): Promise<void>;
  readonly onCancel?: () => void;
  /** Between the fields and the buttons. */
  readonly children?: ComponentChildren;
  readonly isDanger?: boolean;
}

/** The form of an operation: fields, their limits, and errors where they belong. */
export function Form(props: FormProps) {
  const { command, fields, shown = {}, initial = {}, submit, onSubmit, onCancel, children, isDanger } = props;
  const table = commandOf(command).fields;
  const [values, setValues] = useState<Values>(initial);
  const [error, setError] = useState<ApiError | null>(null);
  const [isBusy, setBusy] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const names = fields.flatMap((name) => (table[name] === undefined ? [] : [[name, table[name]] as const]));
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
      await onSubmit(values);
    } catch (thrown) {
      if (!(thrown instanceof ApiError)) throw thrown;
      setError(thrown);
    } finally {
      setBusy(false);
    }
  };
  return (
    <form ref={form} class="form" onSubmit={run} noValidate>
      {names.map(([name, field]) => (
        <FormField
          key={name}
          name={name}
          field={field}
          shown={shown[name] ?? {}}
          value={values[name]}
          error={error?.of(name)}
          onChange={(value) => setValues((now) => ({ ...now, [name]: value }))}
        />
      ))}
      {children}
      {general !== null && (
        <p class="error" role="alert">
          {general}
        </p>
      )}
      <p class="actions">
        <button type="submit" class={isDanger ? 'danger' : 'primary'} disabled={isBusy} aria-busy={isBusy}>
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

interface FieldProps {
  readonly name: string;
  readonly field: Field;
  readonly shown: Shown;
  readonly value: Value;
  readonly error: string | undefined;
  onChange(value: Value): void;
}

/** `createdFrom` → `Created from`. */
const labelOf = (name: string): string => {
  const words = name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).replaceAll('-', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
};

/** One field with its label, what it means, and what is wrong with it. */
export function FormField({ name, field, shown, value, error, onChange }: FieldProps) {
  const id = useId();
  const { label = labelOf(name), about = field.about } = shown;
  const described = [about && `${id}-about`, error && `${id}-error`].filter(Boolean).join(' ');
  const common = {
    id,
    name,
    required: field.required,
    'aria-invalid': error !== undefined,
    ...(described !== '' && { 'aria-describedby': described }),
  };
  return (
    <div class={`field${field.type === 'boolean' ? ' check' : ''}`}>
      <label for={id}>
        {label}
        {!field.required && field.type !== 'boolean' && <span class="quiet"> {texts.optional}</span>}
      </label>
      <Control common={common} field={field} shown={shown} value={value} onChange={onChange} />
      {error !== undefined && (
        <p id={`${id}-error`} class="error">
          {error}
        </p>
      )}
      {about && (
        <p id={`${id}-about`} class="quiet">
          {about}
        </p>
      )}
    </div>
  );
}

interface ControlProps extends Pick<FieldProps, 'field' | 'shown' | 'value' | 'onChange'> {
  readonly common: { readonly id: string; readonly name: string };
}

function Control({ common, field, shown, value, onChange }: ControlProps): JSX.Element {
  const { options = field.names?.map((name) => ({ value: name, label: name })), isLong, inputMode } = shown;
  const text = Array.isArray(value) ? value.join(', ') : String(value ?? field.usual ?? '');
  const onInput = (event: { readonly currentTarget: { readonly value: string } }): void => {
    const given = event.currentTarget.value;
    if (given === '') onChange(undefined);
    else if (field.type === 'integer' || field.type === 'number') onChange(Number(given));
    else if (field.type === 'array') onChange(given.split(',').map((part) => part.trim()));
    else onChange(given);
  };
  if (field.type === 'boolean')
    return (
      <input
        {...common}
        type="checkbox"
        checked={value === true}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
    );
  if (options !== undefined && field.type !== 'names')
    return (
      <select {...common} value={text} onChange={(event) => onChange(event.currentTarget.value || undefined)}>
        {!field.required && field.usual === undefined && <option value="" />}
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.label}
          </option>
        ))}
      </select>
    );
  if (isLong)
    return <textarea {...common} rows={3} value={text} maxLength={field.length} onInput={onInput} />;
  const isNumber = field.type === 'integer' || field.type === 'number';
  return (
    <input
      {...common}
      {...(shown.type && { type: shown.type })}
      inputMode={inputMode ?? (isNumber ? 'numeric' : undefined)}
      value={text}
      maxLength={field.length}
      placeholder={shown.placeholder}
      autoComplete="off"
      onInput={onInput}
    />
  );
}
