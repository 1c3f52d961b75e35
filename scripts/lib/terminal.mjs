// What the scripts print goes to standard error: standard output belongs to the command that they run.
const coloured = process.stderr.isTTY && !process.env.NO_COLOR;
const style = (code) => (text) => (coloured ? `\u001b[${code}m${text}\u001b[0m` : text);

/** Colours, on terminals that want them. */
export const paint = { bold: style(1), dim: style(2), red: style(31), green: style(32), yellow: style(33) };

/** Prints a step before it starts and, with the time it took, after it ended. */
export async function step(title, detail, work) {
  process.stderr.write(`${paint.bold('▸')} ${title} ${paint.dim(`(${detail})`)}\n`);
  const startedAt = performance.now();
  await work();
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  process.stderr.write(`${paint.green('✓')} ${title} ${paint.dim(`${seconds} s`)}\n`);
}

/** Prints something that may matter later. */
export function warn(text) {
  process.stderr.write(`${paint.yellow('!')} ${text.trimEnd()}\n`);
}
