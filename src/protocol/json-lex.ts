/** Where tokens end in valid JSON text. On the hot path: plain loops over char codes. */

/** The index of the quote that closes the string opening at `at`. */
export function stringEnd(text: string, at: number): number {
  for (let index = at + 1; ; index++) {
    const char = text.charCodeAt(index);
    if (char === 0x22) return index;
    if (char === 0x5c) index++; // the escaped character is no end
  }
}

/** The index after the last character of the number that starts at `at`. */
export function numberEnd(text: string, at: number): number {
  let end = at + 1;
  for (; end < text.length; end++) {
    const char = text.charCodeAt(end);
    const inNumber = (char >= 0x30 && char <= 0x39) || char === 0x2e || char === 0x2b || char === 0x2d || isE(char);
    if (!inNumber) break;
  }
  return end;
}

/** Whether the number between two offsets has an exponent. */
export function hasExponent(text: string, at: number, end: number): boolean {
  for (let index = at; index < end; index++) if (isE(text.charCodeAt(index))) return true;
  return false;
}

function isE(char: number): boolean {
  return (char | 0x20) === 0x65;
}
