import { useState } from 'preact/hooks';
import { ApiError } from '../base/api.js';
import { signedOutBecause, signIn } from '../base/session.js';
import { texts } from '../base/texts.js';
import { Title } from '../parts/Title.js';

/** Asks for an API key. A link signs in without it. */
export function SignIn() {
  const [error, setError] = useState<string | null>(null);
  const because = signedOutBecause.value;
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    const key = String(new FormData(event.currentTarget as HTMLFormElement).get('key')).trim();
    await signIn({ key }).catch((thrown: unknown) => {
      if (!(thrown instanceof ApiError)) throw thrown;
      setError(thrown.message);
    });
  };
  return (
    <main class="stack">
      <Title text={texts.signIn.title} />
      {because !== null && <p role="status">{texts.signIn[because]}</p>}
      <form class="stack panel" onSubmit={submit}>
        <div class="field">
          <label for="key">{texts.signIn.key}</label>
          <input
            id="key"
            name="key"
            type="password"
            autoComplete="off"
            required
            aria-describedby="key-error key-about"
          />
          <p id="key-error" class="error" role="alert">
            {error}
          </p>
          <p id="key-about" class="quiet">
            {texts.signIn.about}
          </p>
        </div>
        <p>
          <button type="submit" class="primary">
            {texts.signIn.submit}
          </button>
        </p>
      </form>
      <p class="quiet">{texts.signIn.linkAbout}</p>
    </main>
  );
}
