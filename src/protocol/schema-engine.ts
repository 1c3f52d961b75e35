/** ajv as agents' schemas need it: own properties only, RE2 patterns, linear uniqueItems, a budget of steps. */
import Ajv2020 from 'ajv/dist/2020';
import { _, type ErrorObject, type KeywordCxt, type ValidateFunction } from 'ajv/dist/2020';
import addFormats from 'ajv-formats';
import { canonicalJson } from './identity';
import { compilePattern, type SafePattern } from './safe-pattern';
import { COST_KEYWORD, unsafe, type JsonSchema } from './schema-guard';
import type { Json } from './shapes';

/** Steps one validation may take: half a second at worst; the largest body against a plain schema needs a third of it. */
const MAX_STEPS = 1_000_000;
/** A run of RE2 costs as much as this many plain steps, and one more per 16 of its own (some 25 ns each). */
const PATTERN_STEPS = 40;

class StepsExceeded extends Error {}

/** Validation is synchronous, so one budget serves all; it is refilled before each run. */
const budget = {
  left: MAX_STEPS,
  spend(steps: number): void {
    this.left -= steps;
    if (this.left < 0) throw new StepsExceeded();
  },
};

const TEXT_KEYWORDS = ['minLength', 'maxLength', 'format', 'pattern', 'const', 'enum'];

/** Charges a subschema for its evaluation, text by its length. */
function chargeStep(context: KeywordCxt): void {
  const ref = context.gen.scopeValue('obj', { ref: budget, code: _`{}` });
  const steps = context.schema as number;
  const readsText = TEXT_KEYWORDS.some((keyword) => keyword in context.parentSchema);
  const { data } = context;
  const length = readsText ? _` + (typeof ${data} == "string" ? ${data}.length >> 5 : 0)` : _``;
  context.gen.code(_`${ref}.spend(${steps}${length})`);
}

/** ajv compares items pairwise, which a long array turns into minutes. */
function hasUniqueItems(isWanted: boolean, items: Json[]): boolean {
  if (!isWanted) return true;
  const seen = new Set<string>();
  for (const item of items) {
    const text = canonicalJson(item);
    budget.spend(1 + (text.length >> 4));
    if (seen.has(text)) return false;
    seen.add(text);
  }
  return true;
}

function chargedPattern(pattern: string): SafePattern {
  const safe = compilePattern(pattern);
  return {
    test(text) {
      budget.spend(PATTERN_STEPS + Math.floor((safe.width * text.length) / 16));
      return safe.test(text);
    },
    width: safe.width,
    toString: () => `re2:${pattern}`,
  };
}
chargedPattern.code = 'chargedPattern';

function createAjv(allErrors: boolean): Ajv2020 {
  const ajv = new Ajv2020({
    allErrors,
    ownProperties: true,
    strict: false,
    meta: false,
    validateSchema: false,
    inlineRefs: false,
    verbose: true,
    logger: false,
    code: { regExp: chargedPattern, optimize: false },
  });
  addFormats(ajv);
  ajv.addFormat('url', (text: string) => URL.canParse(text)); // ajv-formats' expression takes quadratic time
  ajv.removeKeyword('uniqueItems');
  ajv.addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    validate: hasUniqueItems,
    error: { message: 'must not have equal items' },
  });
  ajv.addKeyword({ keyword: COST_KEYWORD, schemaType: 'number', before: '$ref', code: chargeStep });
  return ajv;
}

/**
 * Compiles a guarded schema. Each has an ajv of its own: no `$id` meets another tenant's, and dropping it frees it.
 * @throws what ajv throws, for {@link compileSchema} to name.
 */
export function compileWithAjv(schema: JsonSchema, allErrors: boolean): ValidateFunction {
  return createAjv(allErrors).compile(schema);
}

/** Runs a validator within the budget. @throws ReachError `schema_unsafe` when the budget or the stack runs out. */
export function runValidator(validator: ValidateFunction, value: unknown): ErrorObject[] {
  budget.left = MAX_STEPS;
  try {
    return validator(value) === true ? [] : [...(validator.errors ?? [])];
  } catch (error) {
    if (!(error instanceof StepsExceeded) && !(error instanceof RangeError)) throw error;
    throw unsafe({
      pointer: '',
      message: 'takes too many steps to evaluate',
      fix: 'simplify its recursion and alternatives, or send less at once',
    });
  } finally {
    validator.errors = null;
  }
}

let metaValidator: ValidateFunction | undefined;

/** What the JSON Schema 2020-12 meta-schema says about a schema. */
export function metaSchemaErrors(schema: JsonSchema): ErrorObject[] {
  metaValidator ??= new Ajv2020({
    strict: false,
    validateFormats: false,
    verbose: true,
    logger: false,
    allErrors: true,
  }).getSchema('https://json-schema.org/draft/2020-12/schema');
  return metaValidator!(schema) === true ? [] : [...(metaValidator!.errors ?? [])];
}
