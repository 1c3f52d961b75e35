import { Gauge, type Registry } from 'prom-client';

/** A gauge whose value is read whenever metrics are collected. */
export function readGauge(registry: Registry, name: string, help: string, read: () => number): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    collect(this: Gauge) {
      this.set(read());
    },
  });
}
