import { cpus, totalmem } from 'node:os';

/** Where the figures were measured: absolute ones mean nothing without it. */
export interface Machine {
  cores: number;
  cpu: string;
  memory_gb: number;
  platform: string;
  node: string;
}

export function thisMachine(): Machine {
  const processors = cpus();
  return {
    cores: processors.length,
    cpu: processors[0]?.model.trim() ?? 'unknown',
    memory_gb: Math.round(totalmem() / 2 ** 30),
    platform: `${process.platform}-${process.arch}`,
    node: process.version,
  };
}
