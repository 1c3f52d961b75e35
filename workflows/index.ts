export { deliverCallback } from './deliver-callback';
export { reach } from './reach';
export { publish } from './publish';
