import { effect, signal } from '@preact/signals';

const KEY = 'volley-theme';
export const THEMES = ['system', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

export const theme = signal(THEMES.find((one) => one === localStorage.getItem(KEY)) ?? 'system');

effect(() => {
  document.documentElement.style.colorScheme = theme.value === 'system' ? '' : theme.value;
  localStorage.setItem(KEY, theme.value);
});
