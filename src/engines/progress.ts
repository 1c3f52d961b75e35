import { Presets, SingleBar } from 'cli-progress';

import type { EngineProgress, OnEngineProgress } from './types';

/** A stream that people or a log read: standard output or error. */
export type ProgressStream = NodeJS.WritableStream & { isTTY?: boolean };

/** Shows installations: a bar on a terminal, one line for each phase elsewhere. For one installation at a time. */
export function progressReporter(stream: ProgressStream = process.stderr): OnEngineProgress {
  return stream.isTTY ? barReporter(stream) : lineReporter(stream);
}

function barReporter(stream: ProgressStream): OnEngineProgress {
  let bar: SingleBar | undefined;
  return ({ label, phase, receivedBytes, totalBytes }) => {
    bar ??= startBar(stream, { label, totalBytes });
    bar.update(receivedBytes / 1e6, { phase });
    if (phase !== 'ready' && phase !== 'failed') return;
    bar.stop();
    bar = undefined;
  };
}

function startBar(
  stream: ProgressStream,
  { label, totalBytes }: Pick<EngineProgress, 'label' | 'totalBytes'>,
): SingleBar {
  const format = `  ${label.padEnd(30)} {bar} {megabytes} MB  {phase}`;
  const bar = new SingleBar(
    {
      stream,
      barsize: 24,
      hideCursor: true,
      format: (options, { progress, value, total }, { phase }) =>
        format
          .replace('{bar}', drawBar(options, progress))
          .replace('{megabytes}', `${value.toFixed(0)}/${total.toFixed(0)}`.padStart(7))
          .replace('{phase}', String(phase)),
    },
    Presets.shades_classic,
  );
  bar.start(totalBytes / 1e6, 0, { phase: 'download' });
  return bar;
}

function drawBar(
  options: { barsize?: number; barCompleteString?: string; barIncompleteString?: string },
  progress: number,
): string {
  const size = options.barsize ?? 0;
  const filled = Math.round(progress * size);
  return (
    (options.barCompleteString ?? '').slice(0, filled) + (options.barIncompleteString ?? '').slice(0, size - filled)
  );
}

function lineReporter(stream: ProgressStream): OnEngineProgress {
  let last = '';
  let startedAt = 0;
  return ({ label, phase, totalBytes }) => {
    if (last === label + phase) return;
    last = label + phase;
    if (phase === 'download') startedAt = performance.now();
    stream.write(`  ${label}: ${describe(phase, totalBytes, performance.now() - startedAt)}\n`);
  };
}

function describe(phase: EngineProgress['phase'], totalBytes: number, elapsedMs: number): string {
  switch (phase) {
    case 'download':
      return `downloading ${(totalBytes / 1e6).toFixed(0)} MB`;
    case 'unpack':
      return 'unpacking';
    case 'ready':
      return `installed in ${(elapsedMs / 1000).toFixed(1)} s`;
    case 'failed':
      return 'not installed';
  }
}
