import { PassThrough } from 'node:stream';

import { progressReporter, type ProgressStream } from './progress';
import type { EngineProgress } from './types';

const STEPS: Pick<EngineProgress, 'phase' | 'receivedBytes'>[] = [
  { phase: 'download', receivedBytes: 0 },
  { phase: 'download', receivedBytes: 10e6 },
  { phase: 'unpack', receivedBytes: 20e6 },
  { phase: 'ready', receivedBytes: 20e6 },
];

function shown(terminal: Partial<ProgressStream & { columns: number }>): string {
  const stream = Object.assign(new PassThrough(), terminal);
  const report = progressReporter(stream as ProgressStream);
  for (const step of STEPS) report({ engine: 'etcd', label: 'etcd 3.5.1', totalBytes: 20e6, ...step });
  return String(stream.read());
}

it('prints a line for each phase where no terminal shows a bar', () => {
  expect(shown({}).split('\n')).toEqual([
    '  etcd 3.5.1: downloading 20 MB',
    '  etcd 3.5.1: unpacking',
    expect.stringMatching(/^ {2}etcd 3\.5\.1: installed in \d+\.\d s$/),
    '',
  ]);
});

it('draws a bar on a terminal, up to the end', () => {
  const terminal = { isTTY: true, columns: 100, cursorTo: () => true, clearLine: () => true, moveCursor: () => true };
  const text = shown(terminal);
  expect(text).toContain('░'.repeat(24));
  expect(text).toContain(`${'█'.repeat(24)}   20/20 MB  ready`);
});
