import { effect, signal } from '@preact/signals';

/*
 * The colour scheme: that of the system, unless the reader chooses. Forced colours of the system win over both.
 */

const KEY = 'volley-theme';
export const THEMES = ['system', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

const stored = localStorage.getItem(KEY);
export const theme = signal<Theme>(stored === 'light' || stored === 'dark' ? stored : 'system');

effect(() => {
  document.documentElement.dataset['theme'] = theme.value;
  if (theme.value === 'system') localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, theme.value);
});
