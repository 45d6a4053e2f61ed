import type { ComponentChildren } from 'preact';
import { RESOLUTIONS } from '../../../campaign/states/resolutions.js';
import type { Input } from '../base/api.js';
import { recipientsText, texts } from '../base/texts.js';
import { CommandButton } from './CommandDialog.js';

type Command = 'resolveCampaign' | 'resolveOutbox';

interface SettleProps<Op extends Command> {
  readonly command: Op;
  readonly lane: string;
  readonly input: Omit<Input<Op>, 'as'>;
  /** How many recipients it is about, and which. */
  readonly count: number;
  readonly about: ComponentChildren;
}

/** The three ways to settle messages of which it is not known whether they arrived. Each says what it does before it does it. */
export function Settle<Op extends Command>({ input, count, ...rest }: SettleProps<Op>) {
  const words = texts.settle;
  const resend = { tone: 'danger', expect: { count, label: words.expect(count) } } as const;
  return (
    <span class="row">
      {(['accepted', 'abandon', 'resend'] as const).map((as) => (
        <CommandButton
          key={as}
          {...rest}
          input={{ ...input, as } as Input<Op>}
          label={words[as]}
          question={RESOLUTIONS[as](recipientsText(count))}
          {...(as === 'resend' && resend)}
        />
      ))}
    </span>
  );
}
