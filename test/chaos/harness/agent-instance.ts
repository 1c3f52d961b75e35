import { fork, type ChildProcess } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import type { DescriptorDraft } from '../../../src/protocol/descriptor';
import type { Report } from './agent-script';
import { compiled } from './place';

/** What an instance's process is started with. */
export interface InstanceParts {
  /** The journal of all agents. */
  journal: string;
  gateway: string;
  descriptor: DescriptorDraft;
}

/** One instance of an agent, in a process that can be killed and started again; each start is another instance. */
export class AgentInstance {
  private child: ChildProcess | null = null;
  private readonly reports = new EventEmitter();

  private constructor(
    private readonly program: string,
    private readonly args: readonly string[],
  ) {}

  /** A consumer of a queue. */
  static queue({ journal, gateway, descriptor }: InstanceParts): Promise<AgentInstance> {
    return AgentInstance.start('queue-agent-process', [journal, gateway, JSON.stringify(descriptor)]);
  }

  /** An HTTP agent by the SDK. @param parts `ledger`: where its effects happen */
  static sdk({ journal, gateway, descriptor, ledger }: InstanceParts & { ledger: string }): Promise<AgentInstance> {
    return AgentInstance.start('sdk-agent-process', [journal, gateway, JSON.stringify(descriptor), ledger]);
  }

  private static async start(program: string, args: readonly string[]): Promise<AgentInstance> {
    const agent = new AgentInstance(compiled(`test/chaos/harness/${program}.js`), args);
    await agent.restart();
    return agent;
  }

  /** Starts it, and waits until it is registered. */
  async restart(): Promise<void> {
    const child = fork(this.program, this.args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'], detached: true });
    this.child = child;
    child.on('message', (report: Report) => this.reports.emit(report.kind));
    const gone = once(child, 'exit').then(() => Promise.reject(new Error('an instance of an agent ended by itself')));
    gone.catch(() => undefined);
    await Promise.race([once(this.reports, 'listening'), gone]);
  }

  /** Waits until it has received a call, or has done the work of one and not yet answered; false when it did not come to that in time. */
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
    await killed(child);
  }
}

/** `SIGKILL`, and waits for the end; nothing to do where there is no process any more. */
export async function killed(child: ChildProcess | null): Promise<void> {
  if (!child || child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}
