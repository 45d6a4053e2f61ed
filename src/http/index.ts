export { createHttp, type HttpApp, type HttpOptions } from './app.js';
export { listen } from './listen.js';
