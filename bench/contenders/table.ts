/** Every contender, and what it does and does not do, for the report's tables. Each is imported when it starts. */
import type { Contender, Does } from './contender.ts'
import type { MountName } from './receiver.ts'
import { STORES, storesHere, type StoreName } from './stores.ts'

const NOTHING: Does = {
  verifies: false,
  reads: false,
  dispatches: false,
  dedupes: false,
  orders: false,
  retries: false,
  stores: false,
}
const VERIFIES: Does = { ...NOTHING, verifies: true }
/** A queue behind a route that verifies a report by hand. */
const QUEUES: Does = { ...VERIFIES, reads: true, dispatches: true, dedupes: true, retries: true, stores: true }

function ours(mount: MountName, store: StoreName): Contender {
  return {
    label: `this receiver in ${mount === 'express' ? 'Express' : 'node:http'}, ${STORES[store].label}`,
    scheme: 'service',
    answers: 204,
    store,
    ours: true,
    does: {
      verifies: true,
      reads: true,
      dispatches: true,
      dedupes: true,
      orders: true,
      retries: true,
      stores: STORES[store].durable,
    },
    start: async (options) => (await import('./receiver.ts')).startReceiver(mount, store, options),
  }
}

export const CONTENDERS = {
  'node-http-empty': {
    label: 'node:http, body read (the floor)',
    scheme: 'service',
    answers: 204,
    does: NOTHING,
    start: async () => (await import('./node-http-empty.ts')).start(),
  },
  'node-http-verified': {
    label: 'node:http, HMAC, JSON.parse, zod (the limit)',
    scheme: 'service',
    answers: 204,
    does: { ...VERIFIES, reads: true },
    start: async () => (await import('./node-http-verified.ts')).start(),
  },
  'express-empty': {
    label: 'an empty Express route, body not read',
    scheme: 'service',
    answers: 204,
    does: NOTHING,
    start: async () => (await import('./express-empty.ts')).start(),
  },
  'express-by-hand': {
    label: 'Express by hand: express.raw, HMAC, zod',
    scheme: 'service',
    answers: 204,
    does: { ...VERIFIES, reads: true },
    start: async () => (await import('./express-by-hand.ts')).start(),
  },
  octokit: {
    label: '@octokit/webhooks in node:http',
    scheme: 'github',
    answers: 200,
    does: { ...VERIFIES, dispatches: true },
    start: async () => (await import('./octokit-webhooks.ts')).start(),
  },
  stripe: {
    label: 'stripe constructEvent in Express',
    scheme: 'stripe',
    answers: 204,
    does: VERIFIES,
    start: async () => (await import('./stripe-in-express.ts')).start(),
  },
  svix: {
    label: 'svix verify in Express',
    scheme: 'svix',
    answers: 204,
    does: VERIFIES,
    start: async () => (await import('./svix-in-express.ts')).start(),
  },
  'standard-webhooks': {
    label: 'standardwebhooks verify in Express',
    scheme: 'standard-webhooks',
    answers: 204,
    does: VERIFIES,
    start: async () => (await import('./standard-webhooks-in-express.ts')).start(),
  },
  line: {
    label: '@line/bot-sdk middleware in Express',
    scheme: 'line',
    answers: 204,
    does: VERIFIES,
    start: async () => (await import('./line-in-express.ts')).start(),
  },
  bullmq: {
    label: 'BullMQ in Express, Redis',
    scheme: 'service',
    answers: 204,
    store: 'redis',
    settings:
      'jobId; a Worker of concurrency 50; removeOnComplete by age, for an id is known only while its job is kept',
    does: { ...QUEUES, stores: STORES.redis.durable },
    start: async (options) => (await import('./bullmq-in-express.ts')).start(options),
  },
  'pg-boss': {
    label: 'pg-boss in Express, Postgres',
    scheme: 'service',
    answers: 204,
    store: 'postgres',
    settings:
      'id; work in batches of 100, pollingIntervalSeconds 0.5, burstWhenBatchFull; the pool of 10 that is its default',
    does: QUEUES,
    start: async (options) => (await import('./pg-boss-in-express.ts')).start(options),
  },
  'graphile-worker': {
    label: 'graphile-worker in Express, Postgres',
    scheme: 'service',
    answers: 204,
    store: 'postgres',
    settings:
      'jobKey; 24 concurrent jobs, a localQueue and a pool of 25, completeJobBatchDelay 250; a key is forgotten when its job is done',
    does: { ...QUEUES, dedupes: false },
    start: async (options) => (await import('./graphile-worker-in-express.ts')).start(options),
  },
  'sqlite-by-hand': {
    label: 'node:sqlite by hand in Express',
    scheme: 'service',
    answers: 204,
    store: 'sqlite',
    settings: 'INSERT OR IGNORE for each request, UPDATE when it is done, each prepared once and a commit of its own',
    does: { ...QUEUES, dispatches: false, retries: false },
    start: async (options) => (await import('./sqlite-by-hand.ts')).start(options),
  },
  'node-http-memory': ours('node-http', 'memory'),
  'node-http-sqlite': ours('node-http', 'sqlite'),
  'node-http-postgres': ours('node-http', 'postgres'),
  'node-http-mysql': ours('node-http', 'mysql'),
  'node-http-redis': ours('node-http', 'redis'),
  'express-memory': ours('express', 'memory'),
  'express-sqlite': ours('express', 'sqlite'),
  'express-postgres': ours('express', 'postgres'),
  'express-mysql': ours('express', 'mysql'),
  'express-redis': ours('express', 'redis'),
} as const satisfies Readonly<Record<string, Contender>>

export type ContenderName = keyof typeof CONTENDERS

/** All contenders except those whose store server is not running here. */
export async function contendersHere(): Promise<readonly ContenderName[]> {
  const here: readonly StoreName[] = await storesHere()
  return contenderNames(Object.keys(CONTENDERS)).filter((name) => {
    const { store }: Contender = CONTENDERS[name]
    return store === undefined || here.includes(store)
  })
}

/** Validates contender names from the command line. Throws for an unknown name. */
export function contenderNames(given: readonly string[]): readonly ContenderName[] {
  return given.map((name) => {
    if (!isContender(name))
      throw new Error(`There is no contender “${name}”. Use one of: ${Object.keys(CONTENDERS).join(', ')}.`)
    return name
  })
}

function isContender(name: string): name is ContenderName {
  return Object.hasOwn(CONTENDERS, name)
}
