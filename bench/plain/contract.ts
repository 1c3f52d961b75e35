/** What passes between the benchmark's ordinary client, its plain workflow and that workflow's activity. */
export const PLAIN_TASK_QUEUE = 'bench-plain';

export interface PlainInput {
  /** Address of the agent. */
  url: string;
  payload: { text: string; n: number };
}

/** The agent's whole answer. */
export type PlainOutput = Record<string, unknown>;

export interface PlainActivities {
  post(input: PlainInput): Promise<PlainOutput>;
}
