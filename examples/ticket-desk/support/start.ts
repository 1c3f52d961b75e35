/** What the four agents have in common besides being agents: their arguments and their files. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import pino from 'pino';

const DEFAULT_GATEWAY = 'http://127.0.0.1:8080';

/** `--gateway URL`, else `AGENT_REACH_URL`, else where `npm start` listens. */
export function gatewayUrl(): string {
  const { values } = parseArgs({ options: { gateway: { type: 'string' } } });
  return values.gateway ?? process.env.AGENT_REACH_URL ?? DEFAULT_GATEWAY;
}

/** Path of a file of this example. Data stay where they were written, while compiled code runs from `dist/`. */
export function deskFile(name: string): string {
  let root = __dirname;
  while (!existsSync(join(root, 'package.json')) && dirname(root) !== root) root = dirname(root);
  return join(root, 'examples', 'ticket-desk', name);
}

/** Warnings and errors only, unless `LOG_LEVEL` says otherwise: without it an agent also logs its coming and going. */
export function deskLog(agent: string): pino.Logger {
  return pino({ level: process.env.LOG_LEVEL ?? 'warn', base: { agent } }, pino.destination(2));
}

/** For `agent.start().catch(…)`: says what is wrong and ends the process with 1. */
export function giveUp(error: Error): void {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
