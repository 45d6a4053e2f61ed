import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

/** Builds the page that the HTTP API serves at /console/. */
export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  base: '/console/',
  // Below the prefix of an app, the server corrects the addresses in the page; files refer to each other relatively.
  experimental: { renderBuiltUrl: (_file, { hostType }) => ({ relative: hostType !== 'html' }) },
  build: {
    outDir: fileURLToPath(new URL('../../../dist/src/surfaces/console', import.meta.url)),
    emptyOutDir: true,
    target: 'es2023',
    // With light-dark() and nesting, which need no translation.
    cssTarget: ['chrome123', 'firefox121', 'safari17.5'],
    // The content security policy allows no data: addresses of scripts or styles, and files of our own are cached.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  // For a page that is being changed: `npx vite src/surfaces/console`, beside a running `volley up`.
  server: { proxy: { '^/(v1|session)': 'http://127.0.0.1:8080' } },
});
