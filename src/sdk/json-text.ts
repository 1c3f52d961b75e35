/** True for the text of a JSON document, as opposed to YAML. */
export const isJsonText = (text: string): boolean => /^\uFEFF?\s*\{/.test(text);
