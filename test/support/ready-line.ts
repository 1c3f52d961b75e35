import type { ChildProcess } from 'node:child_process';

/** What a root announces on its `ready …` line, once it does. */
export function readyLine(child: ChildProcess): Promise<string> {
  return new Promise((settle) => {
    let seen = '';
    child.stdout?.on('data', (chunk: Buffer) => {
      seen += chunk.toString('utf8');
      const announced = /^ready (\S+)$/m.exec(seen)?.[1];
      if (announced) settle(announced);
    });
  });
}
