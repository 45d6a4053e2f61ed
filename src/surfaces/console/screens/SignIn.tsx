import { signedOutBecause, signIn } from '../base/session.js';
import { labelOf, texts } from '../base/texts.js';
import { Form } from '../parts/Form.js';
import { Title } from '../parts/Section.js';

/** Asks for an API key. A link signs in without it. */
export function SignIn() {
  const because = signedOutBecause.value;
  return (
    <main class="stack">
      <Title text={labelOf('signIn')} />
      {because !== null && <p role="status">{texts.signIn[because]}</p>}
      <section>
        <Form
          fields={['key']}
          shown={{ key: { label: texts.signIn.key, about: texts.signIn.about, type: 'password' } }}
          submit={labelOf('signIn')}
          onSubmit={({ key }) => signIn({ key: String(key ?? '').trim() })}
        />
      </section>
      <p class="quiet">
        {texts.signIn.forDevelopers}{' '}
        {texts.signIn.commands.map((command) => [<code key={command}>{command}</code>, ' '])}
      </p>
    </main>
  );
}
