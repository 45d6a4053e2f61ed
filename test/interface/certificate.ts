/**
 * A certificate for the loopback that nobody has signed but itself, with its key; made for these tests alone
 * (`openssl req -x509 -newkey ec -nodes -days 36500 -subj /CN=localhost …`). It opens nothing anywhere.
 */
export const SELF_SIGNED = {
  cert: `-----BEGIN CERTIFICATE-----
MIIBmjCCAUGgAwIBAgIUUWoyMJQwx5bI8M0IT7QaKBE8OycwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMTAyMTUxN1oYDzIxMjYxMDI4
MDIxNTE3WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAAT0xd2AoQO3gqxcFiMAUkHcKLjlJioy1ePNzvZGGL+D5kqTNieFVLNL
erhTo6P0ao8WzfclRBtycYKs52jzxZ2bo28wbTAdBgNVHQ4EFgQUfsU8srfojThv
N65gSHcPJ3GZ+4IwHwYDVR0jBBgwFoAUfsU8srfojThvN65gSHcPJ3GZ+4IwDwYD
VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARhwR/AAABgglsb2NhbGhvc3QwCgYIKoZI
zj0EAwIDRwAwRAIgbhUqGkI5uE/fqTLzg/l1xPrcmnEQ0YWpu2BuzuvbgT4CICYR
mXGnk1MXS9JM4VqAoxfy3qJTZ7rm81KDDx7Yd3ls
-----END CERTIFICATE-----
`,
  key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg2tDcnW8Qe5tJfe9a
h21c7bYxlWJTfOdCEGlr5b7DWRyhRANCAAT0xd2AoQO3gqxcFiMAUkHcKLjlJioy
1ePNzvZGGL+D5kqTNieFVLNLerhTo6P0ao8WzfclRBtycYKs52jzxZ2b
-----END PRIVATE KEY-----
`,
};
