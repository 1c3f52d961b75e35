import { fork, type ChildProcess } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import type { DescriptorDraft } from '../../../src/protocol/descriptor';
import type { Report } from './agent-script';
import { compiled } from './place';

/** What an instance's process is started with. */
export interface SdkAgentParts {
  /** The journal of all agents. */
  journal: string;
  gateway: string;
  descriptor: DescriptorDraft;
  /** Where its effects happen. */
  ledger: string;
}

/** One instance of an agent by the SDK, in a process that can be killed and started again; each start is another instance. */
export class SdkAgent {
  private child: ChildProcess | null = null;
  private readonly reports = new EventEmitter();

  private constructor(private readonly parts: SdkAgentParts) {}

  static async start(parts: SdkAgentParts): Promise<SdkAgent> {
    const agent = new SdkAgent(parts);
    await agent.restart();
    return agent;
  }

  /** Starts it, and waits until it is registered. */
  async restart(): Promise<void> {
    const { journal, gateway, descriptor, ledger } = this.parts;
    const program = compiled('test/chaos/harness/sdk-agent-process.js');
    const child = fork(program, [journal, gateway, JSON.stringify(descriptor), ledger], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      detached: true,
    });
    this.child = child;
    child.on('message', (report: Report) => this.reports.emit(report.kind));
    const gone = once(child, 'exit').then(() => Promise.reject(new Error('an agent of the SDK ended by itself')));
    gone.catch(() => undefined);
    await Promise.race([once(this.reports, 'listening'), gone]);
  }

  /** Waits until a handler of it has begun, or has had its effect and not yet recorded it; false when it did not come to that in time. */
  async when(kind: 'got' | 'worked', limitMs: number): Promise<boolean> {
    return once(this.reports, kind, { signal: AbortSignal.timeout(limitMs) }).then(
      () => true,
      () => false,
    );
  }

  /** `SIGKILL`, at once. */
  async kill(): Promise<void> {
    const { child } = this;
    this.child = null;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  }
}
