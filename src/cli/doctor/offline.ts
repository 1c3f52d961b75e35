/** What can be said of files alone, before they go out: the configuration and descriptors. */
import { readFileSync } from 'node:fs';
import { parseDescriptor } from '../../protocol/descriptor-loader';
import type { Descriptor } from '../../protocol/descriptor';
import { notChecked, type Finding } from '../../protocol/doctor';
import { ReachError } from '../../protocol/reach-error';
import { checkHealthIntervals } from '../../routing/doctor/agents';
import { checkDescriptions, checkNames } from '../../routing/doctor/names';
import { checkHealthThreshold, checkWeights } from '../../routing/doctor/settings';
import { UsageError } from '../exit-codes';
import type { CliIo } from '../io';

/** The files to look at. Without `config` the defaults are judged. */
export interface OfflineInput {
  files: readonly string[];
  config: string | undefined;
  io: Pick<CliIo, 'env'>;
}

/** The findings on a configuration and on descriptors. @throws UsageError for a file that cannot be read */
export async function offlineFindings({ files, config, io }: OfflineInput): Promise<Finding[]> {
  const { loadConfig } = await import('../../config');
  const text = config === undefined ? {} : { text: readText(config), fileName: config };
  const { router, registry, breaker } = loadConfig({ ...text, env: io.env });
  const { weights, enabled_factors: enabledFactors, exploration } = router;
  const { descriptors, faults } = readDescriptors(files);
  const settings = [
    ...checkWeights({ weights, enabledFactors, exploration }),
    ...checkHealthThreshold(registry.health_threshold, null),
  ];
  if (files.length === 0) return [...settings, notChecked('names.near', 'no descriptors were given; name their files')];
  return [
    ...faults,
    ...settings,
    ...(await checkNames(descriptors)),
    ...checkDescriptions(descriptors),
    ...checkHealthIntervals(descriptors, breaker.window_sec),
  ];
}

function readDescriptors(files: readonly string[]): { descriptors: Descriptor[]; faults: Finding[] } {
  const descriptors: Descriptor[] = [];
  const faults: Finding[] = [];
  for (const file of files) {
    const text = readText(file);
    try {
      descriptors.push(parseDescriptor(text, file.endsWith('.json') ? 'json' : 'yaml').descriptor);
    } catch (caught) {
      const { message } = ReachError.from(caught);
      faults.push({
        id: 'descriptors.valid',
        severity: 'error',
        subject: file,
        measured: message,
        why: 'it cannot be registered',
        fix: 'mend the file; register --dry-run says every finding',
        command: `agent-reach register --dry-run ${file}`,
      });
    }
  }
  return { descriptors, faults };
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    throw new UsageError(`the file ${file} cannot be read`);
  }
}
