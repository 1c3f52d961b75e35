import { readFileSync } from 'node:fs';
import { ReachError } from '../protocol/reach-error';

/** The text of a configuration file. @throws ReachError `invalid_request` that names the file */
export function readConfigFile(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new ReachError('invalid_request', `${file} cannot be read; name an existing file with --config`, { cause });
  }
}
