import type { Recording } from '../checker/facts';
import type { Act } from './act';
import type { StageOptions } from './stage';

/** A row of the fault matrix as something that can be run. */
export interface Scenario {
  /** Its number in the matrix. */
  row: number;
  name: string;
  /** Share of the messages that must complete; a run in which little succeeded proves nothing. */
  floor: number;
  stage: StageOptions;
  /** Measures speed or memory, or uses what there is one of: nothing else runs beside it. */
  alone?: boolean;
  /** Why answers of 500 and logged defects cannot be avoided here. Without a reason each of them is a problem. */
  toleratesDefects?: string;
  /** What is missing on this machine, or null when it can run. */
  missing?: () => Promise<string | null>;
  /** Sends load, injects the fault, waits for recovery; what went wrong is noted on the act. */
  run(act: Act): Promise<void>;
}

/** How a row ended. `skipped`: something is missing here; `not_applicable`: what it would break does not exist yet. */
export type Verdict = 'passed' | 'failed' | 'skipped' | 'not_applicable';

/** One line of the report. */
export interface RowReport {
  row: number;
  name: string;
  seed: number;
  verdict: Verdict;
  sent: number;
  succeeded: number;
  floor: number;
  /** Broken invariants, each a sentence. */
  violations: string[];
  /** Other expectations that were not met. */
  problems: string[];
  /** How long after the end of each fault everything was healthy again, ms; the longest. Null without a fault. */
  recovery_ms: number | null;
  /** What is known of the reaches whose promises were broken: for the JSON only. */
  evidence: Pick<Recording, 'receipts' | 'runs' | 'journal' | 'sightings'> | null;
  /** Figures worth telling. */
  notes: string[];
  duration_ms: number;
}
