/** Stops what global-setup started. */
export default async function globalTeardown(): Promise<void> {
  await Promise.all((globalThis.testEngines ?? []).map((engine) => engine.stop()));
}
