import { work } from './bullmq.js';
import { readOrder } from './order.js';

work(readOrder());
