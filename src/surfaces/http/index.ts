export { createHttp, type HttpApp, listen } from './app.js';
export { volleyHttp } from './plugin.js';
export type { HttpOptions } from './route.js';
