/** True when the operator lets descriptors name this variable: otherwise any descriptor could read the platform's secrets. */
export function isTokenEnvAllowed(name: string, allowed: readonly string[]): boolean {
  return allowed.some((entry) => (entry.endsWith('*') ? name.startsWith(entry.slice(0, -1)) : name === entry));
}
