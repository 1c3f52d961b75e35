import type { ReachActivities } from '../workflows/messages';
import type { PublishActivities } from '../workflows/publish-messages';
import { deliverEvent } from './deliver-event';
import type { ActivityDependencies } from './dependencies';
import { invoke } from './invoke';
import { endChildren } from './end-children';
import { awaitReady, route } from './route';
import { routeAndInvoke } from './route-and-invoke';
import { settle } from './settle';
import { awaitSilence } from './silence';

/** Binds the activities of the workflows to what they work with. The worker registers the result. */
export function createActivities(deps: ActivityDependencies): ReachActivities & PublishActivities {
  return {
    route: (input) => route(deps, input),
    awaitReady: (input) => awaitReady(deps, input),
    routeAndInvoke: (input) => routeAndInvoke(deps, input),
    invoke: (input) => invoke(deps, input),
    settle: (input) => settle(deps, input),
    awaitSilence: (input) => awaitSilence(deps, input),
    endChildren: (input) => endChildren(deps, input),
    deliverEvent: (input) => deliverEvent(deps, input),
  };
}
