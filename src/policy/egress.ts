/**
 * Which addresses may be called (security rows 3–5): one validator for endpoints, health checks and
 * callbacks. Private, loopback, link-local, CGNAT, NAT64, mapped and other special ranges are refused unless
 * the operator's configuration allows them; a request can never widen it.
 */
import ipaddr from 'ipaddr.js';
import { ReachError } from '../protocol/reach-error';

/** Parsed form of `security.egress_allow`: CIDR ranges and exact host names. */
export interface EgressPolicy {
  ranges: [ipaddr.IPv4 | ipaddr.IPv6, number][];
  hosts: ReadonlySet<string>;
}

/**
 * Parses `security.egress_allow`.
 * @throws ReachError `invalid_request` that quotes the entry that is neither CIDR, address nor host name
 */
export function parseEgressAllow(entries: readonly string[]): EgressPolicy {
  const ranges: EgressPolicy['ranges'] = [];
  const hosts = new Set<string>();
  for (const [position, entry] of entries.entries()) {
    if (entry.includes('/')) ranges.push(parseCidr(entry, position));
    else if (ipaddr.isValid(entry))
      ranges.push([ipaddr.parse(entry), ipaddr.parse(entry).kind() === 'ipv4' ? 32 : 128]);
    else if (/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i.test(entry)) hosts.add(entry.toLowerCase());
    else throw wrongEntry(entry, position, 'is neither a CIDR range, an address nor a host name');
  }
  return { ranges, hosts };
}

function parseCidr(entry: string, position: number): [ipaddr.IPv4 | ipaddr.IPv6, number] {
  try {
    return ipaddr.parseCIDR(entry);
  } catch {
    throw wrongEntry(entry, position, 'is not a CIDR range');
  }
}

function wrongEntry(entry: string, position: number, message: string): ReachError {
  const fix = 'write 10.0.0.0/8, 10.1.2.3 or agents.example.com';
  return new ReachError('invalid_request', `security.egress_allow: '${entry}' ${message}; ${fix}`, {
    errors: [{ pointer: `/security/egress_allow/${position}`, message, fix }],
  });
}

/** True when a resolved address may be connected to. Mapped and NAT64 forms are judged by the address they carry. */
export function isAddressAllowed(address: string, policy: EgressPolicy): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = unwrap(ipaddr.parse(address));
  if (policy.ranges.some(([range, bits]) => range.kind() === parsed.kind() && parsed.match(range, bits))) return true;
  return parsed.range() === 'unicast';
}

/** The first 96 bits of addresses that carry an IPv4 address in the last 32 (RFC 6052, 64:ff9b::/96). */
const NAT64 = [0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0];

function unwrap(address: ipaddr.IPv4 | ipaddr.IPv6): ipaddr.IPv4 | ipaddr.IPv6 {
  if (address.kind() === 'ipv4') return address;
  const v6 = address as ipaddr.IPv6;
  if (v6.isIPv4MappedAddress()) return v6.toIPv4Address();
  const bytes = v6.toByteArray();
  // ::a.b.c.d, long deprecated, still reaches a.b.c.d on some systems; :: and ::1 are judged as they are.
  if (bytes.slice(0, 12).every((byte) => byte === 0) && (bytes[12] ?? 0) > 0) return new ipaddr.IPv4(bytes.slice(12));
  // Under another prefix of RFC 8215 (64:ff9b:1::/48) the address it carries lies elsewhere: those stay special, and refused.
  if (NAT64.every((byte, i) => bytes[i] === byte)) return new ipaddr.IPv4(bytes.slice(12));
  return v6;
}

/**
 * Checks a URL as written, before anything is resolved: http or https only, no credentials, literal
 * addresses in any spelling (the URL parser has normalised them). Host names are judged when they resolve,
 * by {@link isAddressAllowed}, unless they are plainly local.
 *
 * @throws ReachError `callback_url_forbidden`
 */
export function assertUrlAllowed(url: string, policy: EgressPolicy, what: string): URL {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (!parsed) throw forbidden(what, 'is not a URL such as https://agent.example/invoke');
  if (parsed.protocol !== 'http:' && parsed.protocol !== 'https:') throw forbidden(what, 'must be http or https');
  return assertPlaceAllowed(parsed, policy, what);
}

/** A broker that may be connected to. */
export interface BrokerPlace {
  /** A name, or a literal address as the URL parser writes it, without brackets. */
  host: string;
  port: number;
  database: number;
  tls: boolean;
}

/**
 * The same for the address of a queue's broker, `redis://host:port/db` or `rediss://`. The host is read as that of an http URL,
 * since only there does the URL parser undo odd spellings of literal addresses.
 *
 * @throws ReachError `callback_url_forbidden`
 */
export function assertBrokerAllowed(address: string, policy: EgressPolicy, what: string): BrokerPlace {
  const scheme = /^rediss?:(?=\/\/)/i.exec(address)?.[0].toLowerCase();
  const asHttp = scheme && address.replace(/^[^:]+/, 'http');
  if (!asHttp || !URL.canParse(asHttp))
    throw forbidden(what, 'is not that of a Redis, such as redis://10.0.0.6:6379/0');
  const { hostname, pathname } = assertPlaceAllowed(new URL(asHttp), policy, what, REDIS_PORTS);
  const { port } = new URL(address);
  return {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? DEFAULT_REDIS_PORT : Number(port),
    database: Number(pathname.slice(1)) || 0,
    tls: scheme === 'rediss:',
  };
}

function assertPlaceAllowed(
  parsed: URL,
  policy: EgressPolicy,
  what: string,
  itsPorts: ReadonlySet<number> = new Set(),
): URL {
  if (parsed.username || parsed.password) throw forbidden(what, 'must not carry credentials; use the auth section');
  const host = parsed.hostname
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '')
    .toLowerCase();
  if (policy.hosts.has(host)) return parsed;
  if (FOREIGN_PORTS.has(Number(parsed.port)) && !itsPorts.has(Number(parsed.port)))
    throw forbidden(what, `has the port of a service that speaks another protocol (${parsed.port})`);
  const local = host === 'localhost' || host.endsWith('.localhost');
  const refused = local
    ? !isAddressAllowed('127.0.0.1', policy)
    : ipaddr.isValid(host) && !isAddressAllowed(host, policy);
  if (refused)
    throw forbidden(what, 'points to a local or private address; the operator can allow it with security.egress_allow');
  return parsed;
}

/**
 * Ports of services that take commands line by line or trust whoever can connect, so that a POST could do harm there: mail,
 * shells, directories, data stores, and the platform's own engines. Hosts that the operator names may use them.
 */
const FOREIGN_PORTS: ReadonlySet<number> = new Set([
  7, 9, 11, 13, 19, 21, 22, 23, 25, 53, 79, 110, 111, 119, 135, 139, 143, 161, 389, 445, 465, 512, 513, 514, 587, 636,
  993, 995, 1433, 1521, 2049, 2181, 2375, 2379, 2380, 3306, 3389, 4369, 5432, 5672, 5900, 5984, 6000, 6379, 7233, 9042,
  9092, 11211, 26379, 27017,
]);

const DEFAULT_REDIS_PORT = 6379;
/** Among the foreign ports, those that a broker may have. */
const REDIS_PORTS: ReadonlySet<number> = new Set([DEFAULT_REDIS_PORT]);

function forbidden(what: string, why: string): ReachError {
  return new ReachError('callback_url_forbidden', `The address of ${what} ${why}`);
}
