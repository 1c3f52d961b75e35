/** Lets whatever else is due run first: long computations stop here every few milliseconds. */
export function breathe(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
