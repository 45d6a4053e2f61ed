export { createHttp, type HttpApp, listen } from './app.js';
export type { HttpOptions } from './route.js';
