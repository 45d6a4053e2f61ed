import type { ComponentType } from 'preact';
import { labelOf } from '../../base/texts.js';
import { Section, Title } from '../../parts/Section.js';
import { CheckStep } from './CheckStep.js';
import { ListStep } from './ListStep.js';
import './new.css';
import { Phone } from './Phone.js';
import { type Page, usePage } from './page.js';
import { SendStep } from './SendStep.js';
import { TextStep } from './TextStep.js';
import { WhenStep } from './WhenStep.js';

const STEPS: Readonly<Record<string, ComponentType<Page>>> = {
  list: ListStep,
  text: TextStep,
  check: CheckStep,
  when: WhenStep,
  send: SendStep,
};

/** Sends a list: choose it, write the text, check both, and send. */
export function NewCampaign() {
  const page = usePage();
  return (
    <>
      <Title text={labelOf('newCampaign')}>
        {page.startOver && (
          <button type="button" onClick={page.startOver}>
            {labelOf('startOver')}
          </button>
        )}
      </Title>
      <div class="new">
        <div class="stack">
          {Object.entries(STEPS).map(([name, Step], at) => (
            <Section key={name} class="panel stack" title={`${at + 1} ${labelOf(name)}`}>
              <Step {...page} />
            </Section>
          ))}
        </div>
        <Phone {...page} />
      </div>
    </>
  );
}
