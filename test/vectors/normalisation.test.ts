/** The meaning of callbacks: every normalisation vector against its own receiver. */
import type { WebhookEvent } from 'messaging-webhooks'
import { vectors, type NormalisationVector } from 'messaging-webhooks/vectors'
import { expect, test } from 'vitest'
import { taking } from '../support/vectors.ts'

test.each(vectors.normalisation)('$name', async (vector) => {
  const event = await eventOf(vector)
  expect(seen(event)).toEqual(vector.expected)
  if (event.type !== 'unrecognized') expect(event.payload).toEqual(payloadOf(vector))
})

async function eventOf(vector: NormalisationVector): Promise<WebhookEvent> {
  const { clock, networks } = vector
  const { receiver, dispatched, take } = taking({ clock: () => clock * 1_000, networks, ordering: { gapTimeoutMs: 0 } })
  await take(vector)
  await receiver.drain()
  expect(dispatched).toHaveLength(1)
  const [event] = dispatched
  if (event === undefined) throw new Error('Nothing was dispatched.')
  return event
}

/** Fields of every event, or of the request; this family is not about them. */
const LEFT_OUT = ['id', 'project', 'occurredAt', 'receivedAt', 'proof', 'payload', 'data', 'kind']

/** All other fields, as a vector writes them. */
function seen(event: WebhookEvent): object {
  const fields = Object.entries(event).filter(([name, value]) => !LEFT_OUT.includes(name) && value !== undefined)
  const oddities = event.oddities === undefined ? {} : { oddities: event.oddities.toSorted() }
  return { ...Object.fromEntries(fields), timestamp: event.timestamp ?? null, ...oddities }
}

function payloadOf({ bodyBase64 }: NormalisationVector): unknown {
  const body: unknown = JSON.parse(Buffer.from(bodyBase64, 'base64').toString().replace('\uFEFF', ''))
  if (typeof body !== 'object' || body === null) return body
  return Object.fromEntries(Object.entries(body).filter(([name]) => name !== 'authKey'))
}
