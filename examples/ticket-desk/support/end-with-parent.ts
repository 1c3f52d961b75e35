/**
 * Preloaded by `agents.ts` (`node -r`): a parent that is killed cannot stop its children, but the pipe that it held to
 * their standard input closes, and then they end as if asked to. Keeps this out of the agents themselves.
 */
process.stdin.on('end', endWithParent).on('error', endWithParent).resume();
// Listening is no reason to stay: an agent that has drained ends by itself.
(process.stdin as NodeJS.ReadStream).unref();

function endWithParent(): void {
  process.kill(process.pid, 'SIGTERM');
}
