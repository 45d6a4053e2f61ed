export { untilAnswered } from '../redis/until-answered.js';
