export { reach } from './reach';
