export { createHttp, type HttpApp } from './app.js';
export { listen } from './listen.js';
export type { HttpOptions } from './routes.js';
