export { createHttp, type HttpApp, type HttpOptions } from './app.js';
