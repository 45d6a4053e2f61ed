import { commandOf } from '../../base/api.js';
import { newTexts as texts } from '../../base/compose-texts.js';
import { labelOf } from '../../base/texts.js';
import { FormField, type Shown, TEXT } from '../../parts/Form.js';
import type { Draft } from './draft.js';
import type { Page } from './page.js';

const LABELS: Partial<Readonly<Record<string, string>>> = texts.fields;

interface EntryProps extends Pick<Page, 'draft' | 'change'>, Shown {
  readonly name: keyof Draft;
  readonly value?: string | undefined;
  readonly error?: string | undefined;
}

/** A field of the campaign that is being written. `value`: what stands in it while the person has entered nothing. */
export function Entry({ draft, change, name, value = '', error, ...shown }: EntryProps) {
  const { length } = commandOf('previewCampaign').fields[name] ?? {};
  const type = typeof draft[name];
  return (
    <FormField
      name={name}
      field={{ ...TEXT, type, ...(length && { length }) }}
      shown={{ label: LABELS[name] ?? labelOf(name), ...shown }}
      value={draft[name] || value}
      error={error}
      onChange={(given) => change({ [name]: given ?? '' })}
    />
  );
}

export const UNCHOSEN = { value: '', label: texts.unchosen };
