/** svix's `Webhook.verify`, as its documentation for Express uses it. */
import { Webhook } from 'svix'
import { BASE64_SECRET } from '../load/secrets.ts'
import type { Running } from './contender.ts'
import { expressWithRawBody } from './express-raw.ts'

export function start(): Running {
  const webhook = new Webhook(BASE64_SECRET)
  return expressWithRawBody((body, headers) => webhook.verify(body, headers))
}
