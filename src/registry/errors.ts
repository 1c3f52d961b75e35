import { ReachError, type FieldError } from '../protocol/reach-error';

/** @returns `invalid_request` about one field. */
export function invalidField(pointer: string, message: string, fix: string): ReachError {
  return new ReachError('invalid_request', `${pointer.slice(1)}: ${message}`, { errors: [{ pointer, message, fix }] });
}

/** @returns the first finding as message, all of them with pointers. */
export function refuse(code: 'name_collision' | 'invalid_descriptor', findings: FieldError[]): ReachError {
  const [first] = findings;
  const more = findings.length > 1 ? ` (and ${findings.length - 1} more)` : '';
  return new ReachError(code, `${first?.message}${more}; ${first?.fix}`, { errors: findings });
}

export function agentNotFound(name: string): ReachError {
  const message = `Agent ${name} is not registered`;
  return new ReachError('agent_not_found', `${message}; post its descriptor to /v1/agents first`, {
    diagnosis: { reason: 'agent_unknown', message },
  });
}

export function versionNotFound(name: string, version: string, available: string[]): ReachError {
  const message = `Agent ${name} has no version ${version}; there ${available.length === 1 ? 'is' : 'are'} ${available.join(', ')}`;
  return new ReachError('version_not_found', `${message}. Register that version's descriptor first`, {
    diagnosis: { reason: 'version_mismatch', message, available_versions: available },
  });
}

export function leaseExpired(name: string, instanceId: string): ReachError {
  return new ReachError(
    'lease_expired',
    `Instance ${instanceId} of agent ${name} has no live lease; register it again with PUT /v1/agents/${name}/instances/${instanceId}`,
  );
}

export function staleEpoch(name: string, instanceId: string, given: string, current: string): ReachError {
  return new ReachError(
    'stale_epoch',
    `Instance ${instanceId} of agent ${name} was registered anew (epoch ${current}, not ${given}); stop using the old registration, or register again to take over`,
    {
      extra: { details: { epoch: current } },
    },
  );
}
