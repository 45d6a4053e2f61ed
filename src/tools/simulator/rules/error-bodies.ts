/** The forms of an error's body; the interface page shows none. */
export const ERROR_BODIES = ['message', 'oneApi', 'text', 'html', 'none'] as const;
/** See {@link ERROR_BODIES}. */
export type ErrorBody = (typeof ERROR_BODIES)[number];

/** The content type and the text of an error's body; undefined for none. */
export function errorBody(
  form: ErrorBody,
  status: number,
  message: string,
): { readonly type: string; readonly text: string } | undefined {
  switch (form) {
    case 'message':
      return { type: 'application/json', text: JSON.stringify({ message }) };
    case 'oneApi':
      return { type: 'application/json', text: JSON.stringify({ requestError: oneApi(status, message) }) };
    case 'text':
      return { type: 'text/plain', text: message };
    case 'html':
      return { type: 'text/html', text: `<html><body><h1>${status}</h1><p>${message}</p></body></html>` };
    case 'none':
      return undefined;
    default:
      return form satisfies never;
  }
}

/** An exception of the GSMA OneAPI family, with its text and the variables that belong in the text. */
function oneApi(status: number, message: string): object {
  const variables = [message];
  if (status >= 500) {
    const text = 'A service error occurred. Error code is %1';
    return { serviceException: { messageId: 'SVC0001', text, variables } };
  }
  if (status === 401 || status === 403 || status === 406 || status === 429) {
    const text = 'A policy error occurred. Error code is %1';
    return { policyException: { messageId: 'POL0001', text, variables } };
  }
  const text = 'Invalid input value for message part %1';
  return { serviceException: { messageId: 'SVC0002', text, variables } };
}
