/** Callbacks as the contract shows them, and the events that they are, written down by hand. */
import { CALLBACK_KINDS } from 'messaging-webhooks'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { serve } from '../support/hazard.ts'
import { readVectors } from '../support/vectors.ts'
import { postSigned, signatureOf } from '../support/wire.ts'

const NOW = 1_760_000_000

const vectors = readVectors(
  'callbacks',
  z.array(
    z.strictObject({
      name: z.string(),
      kind: z.enum(CALLBACK_KINDS),
      body: z.record(z.string(), z.unknown()),
      event: z.record(z.string(), z.unknown()),
    }),
  ),
)

test.each(vectors)('$name', async ({ kind, body, event }) => {
  const networks = { 'carrier-a': 'carrierA', 'carrier-b': 'carrierB' } as const
  const { url, handed, receiver } = await serve({ networks, clock: () => NOW * 1_000 }, { kind })
  const text = JSON.stringify(body)
  expect(await postSigned(url, text, { 'x-service-signature': signatureOf(text, { t: NOW }) })).toBe(204)
  await receiver.drain()
  expect(handed).toMatchObject([{ ...event, payload: body }])
})
