// The HTTP API knows nothing about Redis except that it may be unavailable.
export { isUnavailable } from '../redis/unavailable.js';
