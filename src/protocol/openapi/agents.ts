/** `/v1/agents`: descriptors, instances, heartbeats. */
import { z } from 'zod';
import { agentRegistrationSchema, agentSchema, descriptorDocument } from '../agent-schemas';
import { cataloguePageQuery, MAX_CATALOGUE_PAGE } from '../catalogue-page';
import {
  heartbeatAnswerSchema,
  heartbeatSchema,
  instanceRegistrationSchema,
  registrationAnswerSchema,
} from '../registration';
import { listSchema } from '../result';
import { agentRemovalQuery, agentVersionRemovalSchema, type AgentVersionRemoval } from '../version-removal';
import * as examples from './examples';
import { BODY_PROBLEMS, json, type Operation } from './operation';

const agentParam = z.object({ name: z.string().meta({ description: "The agent's name.", example: 'refund_agent' }) });
const instanceParams = agentParam.extend({ instance_id: z.string().meta({ example: 'refund-7f9c' }) });
const flag = z.enum(['true', 'false']).optional();

const removed: AgentVersionRemoval = {
  agent_name: 'refund_agent',
  agent_version: '1.2.0',
  instances: ['refund-7f9c'],
  breakers: [],
  versions_left: ['1.3.0'],
  warnings: [],
};

/** Operations on agents and their instances. */
export const AGENT_OPERATIONS: Operation[] = [
  {
    method: 'post',
    path: '/v1/agents',
    id: 'registerAgent',
    tag: 'agents',
    summary: 'Register a descriptor',
    query: z.object({
      dry_run: flag.meta({ description: 'Check only.' }),
      replace: flag.meta({ description: 'Replace the same version with other content.' }),
    }),
    body: {
      schema: descriptorDocument,
      mediaTypes: ['application/json', 'application/yaml'],
      examples: { refund: examples.descriptor },
    },
    answers: {
      200: { description: 'Known already, with the same content; or a dry run', body: json(agentRegistrationSchema) },
      201: { description: 'Registered', body: json(agentRegistrationSchema), headers: { Location: 'The agent.' } },
    },
    problems: [
      ...BODY_PROBLEMS,
      'invalid_descriptor',
      'schema_unsafe',
      'callback_url_forbidden',
      'token_env_forbidden',
      'name_collision',
      'version_exists',
    ],
  },
  {
    method: 'get',
    path: '/v1/agents',
    id: 'listAgents',
    tag: 'agents',
    summary: 'List agents',
    description: 'By name; all of them unless `limit` says how many.',
    query: cataloguePageQuery.extend({ limit: z.int().min(1).max(MAX_CATALOGUE_PAGE).optional() }),
    answers: { 200: { description: 'All agents', body: json(listSchema(agentSchema)) } },
    problems: ['invalid_request'],
  },
  {
    method: 'get',
    path: '/v1/agents/{name}',
    id: 'getAgent',
    tag: 'agents',
    summary: 'Everything known about an agent',
    params: agentParam,
    answers: { 200: { description: 'The agent', body: json(agentSchema) } },
    problems: ['agent_not_found'],
  },
  {
    method: 'delete',
    path: '/v1/agents/{name}',
    id: 'deleteAgent',
    tag: 'agents',
    summary: 'Remove an agent with all its versions and instances, or one version with its instances',
    params: agentParam,
    query: agentRemovalQuery,
    answers: {
      200: { description: 'One version was removed', body: json(agentVersionRemovalSchema, { removed }) },
      204: { description: 'The agent was removed', body: null },
    },
    problems: ['invalid_request', 'agent_not_found', 'version_not_found'],
  },
  {
    method: 'put',
    path: '/v1/agents/{name}/instances/{instance_id}',
    id: 'registerInstance',
    tag: 'agents',
    summary: 'Register an instance under a lease',
    params: instanceParams,
    body: json(instanceRegistrationSchema, {
      push: { version: '1.2.0', host: 'http://10.0.0.7:9000', ttl_sec: 30, max_concurrency: 8 },
    }),
    answers: { 200: { description: 'Registered, with a new epoch', body: json(registrationAnswerSchema) } },
    problems: [...BODY_PROBLEMS, 'agent_not_found', 'version_not_found', 'callback_url_forbidden'],
  },
  {
    method: 'delete',
    path: '/v1/agents/{name}/instances/{instance_id}',
    id: 'deregisterInstance',
    tag: 'agents',
    summary: 'End a registration',
    params: instanceParams,
    query: z.object({ epoch: z.string().meta({ description: 'Of the registration to end.', example: '42' }) }),
    answers: { 204: { description: 'Ended', body: null } },
    problems: ['invalid_request', 'stale_epoch', 'lease_expired'],
  },
  {
    method: 'post',
    path: '/v1/agents/{name}/instances/{instance_id}/heartbeat',
    id: 'heartbeat',
    tag: 'agents',
    summary: 'Keep the lease alive and report status and load',
    params: instanceParams,
    body: json(heartbeatSchema, { ready: { epoch: '42', status: 'ready', load: 0.25, in_flight: 2 } }),
    answers: { 200: { description: 'Renewed', body: json(heartbeatAnswerSchema) } },
    problems: [...BODY_PROBLEMS, 'stale_epoch', 'lease_expired'],
  },
];
