import type { ReachActivities } from '../workflows/messages';
import type { ActivityDependencies } from './dependencies';
import { invoke } from './invoke';
import { awaitReady, route } from './route';
import { routeAndInvoke } from './route-and-invoke';
import { settle } from './settle';

/** Binds the activities of `reach` to what they work with. The worker registers the result. */
export function createActivities(deps: ActivityDependencies): ReachActivities {
  return {
    route: (input) => route(deps, input),
    awaitReady: (input) => awaitReady(deps, input),
    routeAndInvoke: (input) => routeAndInvoke(deps, input),
    invoke: (input) => invoke(deps, input),
    settle: (input) => settle(deps, input),
  };
}
