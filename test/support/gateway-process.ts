import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { stringify } from 'yaml';
import { Api } from './api';
import { gatewaySettings, type TestGatewayOptions } from './gateway';
import { readyLine } from './ready-line';

const ROOT = resolve(__dirname, '../../dist/src/gateway.js');

/** A gateway that is a process of its own: the compiled composition root, as an operator runs it. */
export interface GatewayProcess {
  url: string;
  api: Api;
  child: ChildProcess;
  /** Exit code or signal. */
  ended: Promise<number | NodeJS.Signals | null>;
  /** Kills what is left of it. */
  close(): Promise<void>;
}

/** Starts `dist/src/gateway.js` with a config file of its own and waits for its `ready URL`. */
export async function startGatewayProcess(options: TestGatewayOptions & { platform: string }): Promise<GatewayProcess> {
  if (!existsSync(ROOT)) throw new Error(`${ROOT} is missing: run npm run build (npm test does so by itself)`);
  const file = join(mkdtempSync(join(tmpdir(), 'agent-reach-gateway-')), 'agent-reach.yaml');
  writeFileSync(file, stringify(JSON.parse(JSON.stringify(gatewaySettings(options)))));
  const child = spawn(process.execPath, [ROOT, '--config', file], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise<number | NodeJS.Signals | null>((settle) =>
    child.once('exit', (code, signal) => settle(signal ?? code)),
  );
  const url = await Promise.race([
    readyLine(child),
    ended.then((how) => Promise.reject(new Error(`the gateway ended (${how}) before it was ready`))),
  ]);
  const api = new Api(url);
  return {
    url,
    api,
    child,
    ended,
    async close() {
      child.kill('SIGKILL');
      await ended;
      await api.close();
    },
  };
}
