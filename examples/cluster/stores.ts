/** One store for all instances, by the name of its engine. */
import { type Store } from 'messaging-webhooks'
import { postgresStore } from 'messaging-webhooks/postgres'
import { redisStore } from 'messaging-webhooks/redis'
import { createClient } from 'redis'

/** As compose.yaml starts them. */
export const URLS = {
  postgres: 'postgres://postgres:example@127.0.0.1:5432/postgres',
  redis: 'redis://:example@127.0.0.1:6379',
} as const

type EngineName = keyof typeof URLS

export function isEngine(name: string | undefined): name is EngineName {
  return name !== undefined && Object.hasOwn(URLS, name)
}

/** `name` keeps this example's data apart from whatever else is on the server. */
export function storeOn(engine: EngineName, url: string, name: string): Store {
  if (engine === 'postgres') return postgresStore({ connectionString: url, schema: name })
  return redisStore({ client: createClient({ url }), prefix: name })
}
