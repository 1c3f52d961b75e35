/**
 * Whether a host, alone or with a port (`127.0.0.1`, `localhost:7233`, `[::1]:7233`, `::1`), is this machine's loopback: what is
 * sent there leaves it on no wire.
 */
export function isLoopback(host: string): boolean {
  const name = host.replace(/^\[(.*)\](:\d+)?$/, '$1').replace(/^([^:]*):\d+$/, '$1');
  return name === 'localhost' || name === '::1' || /^127(\.\d{1,3}){3}$/.test(name);
}
