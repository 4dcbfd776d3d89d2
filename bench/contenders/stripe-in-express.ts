/** stripe's `constructEvent`, as its `examples/webhook-signing/express` uses it. */
import Stripe from 'stripe'
import { SIGNING_SECRET } from '../load/secrets.ts'
import type { Running } from './contender.ts'
import { expressWithRawBody } from './express-raw.ts'

export function start(): Running {
  const stripe = new Stripe('sk_test_of_the_benchmark')
  return expressWithRawBody((body, headers) =>
    stripe.webhooks.constructEvent(body, headers['stripe-signature'] ?? '', SIGNING_SECRET),
  )
}
