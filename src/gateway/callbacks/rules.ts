import { assertUrlAllowed, type EgressPolicy } from '../../policy/egress';
import type { EnvelopeInput } from '../../protocol/envelope';
import { ReachError } from '../../protocol/reach-error';

/**
 * Whether the end of a reach may be sent where its envelope says, as far as the address tells as written. Names are judged
 * again by what they resolve to when it is delivered.
 * @throws ReachError `callback_url_forbidden`, before anything is routed or started
 */
export function assertCallbackAllowed({ callback }: Pick<EnvelopeInput, 'callback'>, egress: EgressPolicy): void {
  if (!callback) return;
  try {
    assertUrlAllowed(callback.url, egress, 'the callback');
  } catch (caught) {
    const { code, message } = ReachError.from(caught);
    throw new ReachError(code, message, {
      errors: [
        {
          pointer: '/callback/url',
          message: message.replace('The address of the callback ', ''),
          fix: 'name a public http or https address, or have the operator allow this one with security.egress_allow',
        },
      ],
    });
  }
}
