/** Names of abilities as identifiers of programming languages: any script, no reserved word, no two the same. */

/** Words that may not be a name in TypeScript or in Python, as written there. */
const RESERVED: ReadonlySet<string> = new Set(
  (
    'abstract any arguments as asserts async await bigint boolean break case catch class const constructor continue debugger declare ' +
    'default delete do else enum eval export extends false finally for from function get global if implements import in infer ' +
    'instanceof interface is keyof let module namespace never new null number object of package private protected prototype ' +
    'public readonly require return set static string super switch symbol this throw true try type typeof undefined unique ' +
    'unknown var void while with yield __proto__ ' +
    'False None True and assert def del elif except global lambda nonlocal not or pass raise match print self'
  ).split(' '),
);

/** `refund_progress` → `REFUND_PROGRESS`, `退款.查询` → `退款_查询`, `3d-print` → `_3D_PRINT`. */
export function constantName(name: string): string {
  return safe(joined(name, '_').toUpperCase(), (text) => `${text}_`);
}

/** `refund_progress` → `RefundProgress`, for types. */
export function typeName(name: string): string {
  const pascal = partsOf(name)
    .map((part) => part.charAt(0).toUpperCase() + part.slice(1))
    .join('');
  return safe(pascal, (text) => `${text}_`);
}

/**
 * One identifier for each name: where several would get the same one, all of them but the first, as the names sort, get a
 * number. The order in which the names are given does not matter.
 */
export function identifiersFor(names: readonly string[], make: (name: string) => string): Map<string, string> {
  const used = new Set<string>();
  const chosen = new Map<string, string>();
  for (const name of [...names].sort()) {
    const base = make(name);
    let identifier = base;
    for (let n = 2; used.has(identifier); n += 1) identifier = `${base}_${n}`;
    used.add(identifier);
    chosen.set(name, identifier);
  }
  return chosen;
}

function partsOf(name: string): string[] {
  // NFKC, as Python reads its own identifiers.
  return name
    .normalize('NFKC')
    .split(/[^\p{ID_Continue}]+|_+/u)
    .filter(Boolean);
}

function joined(name: string, glue: string): string {
  return partsOf(name).join(glue);
}

function safe(text: string, escape: (text: string) => string): string {
  const begun = /^\p{ID_Start}/u.test(text) ? text : `_${text}`;
  return RESERVED.has(begun) ? escape(begun) : begun;
}
