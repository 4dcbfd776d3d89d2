/** Standard Webhooks' own library, mounted like svix. */
import { Webhook } from 'standardwebhooks'
import { BASE64_SECRET } from '../load/secrets.ts'
import type { Running } from './contender.ts'
import { expressWithRawBody } from './express-raw.ts'

export function start(): Running {
  const webhook = new Webhook(BASE64_SECRET)
  return expressWithRawBody((body, headers) => webhook.verify(body, headers))
}
