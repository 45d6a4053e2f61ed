// For the doors, which know nothing of Redis but that it may be away.
export { isUnanswered } from '../redis/unanswered.js';
