/** How the page of the document looks: CSS, for light and dark, and for a phone. */
export const STYLE = `
:root { color-scheme: light dark; --line: #8884; --soft: light-dark(#666, #999); }
body { margin: 0; font: 16px/1.5 system-ui, sans-serif; display: grid; grid-template-columns: 19rem minmax(0, 1fr); }
nav { position: sticky; top: 0; height: 100vh; overflow: auto; box-sizing: border-box; padding: 1rem; border-right: 1px solid var(--line); font-size: 13px; }
nav p { margin: 1rem 0 .25rem; color: var(--soft); }
nav a { display: block; color: inherit; text-decoration: none; padding: .1rem 0; overflow-wrap: anywhere; }
nav a:hover { text-decoration: underline; }
main { padding: 1rem 2rem 6rem; max-width: 60rem; }
section { border-top: 1px solid var(--line); padding: .5rem 0 1rem; }
h3 { font: 600 1.05rem/1.4 ui-monospace, monospace; overflow-wrap: anywhere; }
h4 { margin: 1rem 0 .25rem; font-size: .85rem; color: var(--soft); }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
td, th { text-align: left; vertical-align: top; padding: .25rem .75rem .25rem 0; border-bottom: 1px solid var(--line); }
td:first-child { white-space: nowrap; }
code { font: .92em ui-monospace, monospace; }
i, small { color: var(--soft); font-style: normal; font-size: .85em; }
.answer { margin: .3rem 0; font-size: .9rem; }
@media (max-width: 50rem) {
  body { display: block; }
  nav { position: static; height: auto; max-height: 40vh; border: 0; border-bottom: 1px solid var(--line); }
  main { padding: 1rem 1rem 6rem; }
  tr { display: block; padding: .3rem 0; border-bottom: 1px solid var(--line); }
  td { display: block; padding: 0; border: 0; overflow-wrap: anywhere; }
  td:first-child { white-space: normal; }
  th { display: none; }
}
`;
