import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';

/** A new id for this process in the registry, readable by people: host, process id and chance. */
export function newInstanceId(): string {
  const host = hostname()
    .toLowerCase()
    .replace(/[^a-z0-9-]/g, '-')
    .slice(0, 40);
  return `${host}-${process.pid}-${randomBytes(3).toString('hex')}`;
}
