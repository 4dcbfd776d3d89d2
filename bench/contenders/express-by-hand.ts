/** `express.raw`, `createHmac` and zod. */
import { verifyByHand } from './by-hand.ts'
import type { Running } from './contender.ts'
import { expressWithRawBody } from './express-raw.ts'

export function start(): Running {
  return expressWithRawBody((body, headers) => verifyByHand(body, headers['x-service-signature']))
}
