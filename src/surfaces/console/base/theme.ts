import { effect, signal } from '@preact/signals';

const KEY = 'volley-theme';
export const THEMES = ['system', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

const stored = localStorage.getItem(KEY);
export const theme = signal<Theme>(stored === 'light' || stored === 'dark' ? stored : 'system');

effect(() => {
  document.documentElement.style.colorScheme = theme.value === 'system' ? '' : theme.value;
  if (theme.value === 'system') localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, theme.value);
});
