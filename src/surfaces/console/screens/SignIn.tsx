import { useState } from 'preact/hooks';
import { ApiError } from '../base/api.js';
import { signedOutBecause, signIn } from '../base/session.js';
import { texts } from '../base/texts.js';

/** Asks for an API key. A link signs in without it. */
export function SignIn() {
  const [error, setError] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const because = signedOutBecause.value;
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    const key = String(new FormData(event.currentTarget as HTMLFormElement).get('key') ?? '').trim();
    setBusy(true);
    try {
      await signIn({ key });
    } catch (thrown) {
      if (!(thrown instanceof ApiError)) throw thrown;
      setError(thrown.message);
    } finally {
      setBusy(false);
    }
  };
  return (
    <main class="sign-in">
      <h1>Volley</h1>
      {because !== null && <p role="status">{texts.signIn[because]}</p>}
      <form class="form" onSubmit={submit}>
        <div class="field">
          <label for="key">{texts.signIn.key}</label>
          <input
            id="key"
            name="key"
            type="password"
            autoComplete="off"
            required
            aria-invalid={error !== null}
            aria-describedby="key-about key-error"
          />
          <p id="key-error" class="error" role="alert">
            {error}
          </p>
          <p id="key-about" class="quiet">
            {texts.signIn.about}
          </p>
        </div>
        <p class="actions">
          <button type="submit" class="primary" disabled={isBusy}>
            {texts.signIn.submit}
          </button>
        </p>
      </form>
      <p class="quiet">{texts.signIn.linkAbout}</p>
    </main>
  );
}
