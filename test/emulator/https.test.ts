/** Callbacks over TLS, to a server with a certificate of its own. */
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import { createReceiver } from 'messaging-webhooks'
import { callback } from 'messaging-webhooks/testing'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { FaultName } from '../../src/emulator/faults.ts'
import { makeCertificate } from '../support/certificate.ts'
import { AUTH_KEY, SIGNING_SECRET } from '../support/receiving.ts'
import { NOW_MS, outgoing, DEADLINE_MS, sending } from './playing.ts'
import { titleWith } from '../support/skipping.ts'

vi.setConfig({ testTimeout: 2 * DEADLINE_MS })

const certificate = makeCertificate()
// Where every test must run, a missing tool fails the run.
const isSkipped = certificate === undefined && process.env['CI'] !== 'true'
const missing = isSkipped ? 'no openssl' : undefined

async function receivingSecurely() {
  const receiver = createReceiver({
    credentials: { authKey: AUTH_KEY, signingSecret: SIGNING_SECRET },
    clock: () => NOW_MS,
    logger: false,
  })
  const server = https.createServer({ ...certificate }, receiver.middleware('status'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    server.closeAllConnections()
    server.close()
    await receiver.close({ deadlineMs: 100 })
  })
  const { port } = server.address() as AddressInfo
  return { receiver, url: `https://127.0.0.1:${port}/` }
}

test.skipIf(isSkipped)(titleWith(missing, 'are accepted when the certificate is trusted'), async () => {
  const { receiver, url } = await receivingSecurely()
  const { sender } = sending({ ca: certificate?.cert })
  expect(await sender.send(outgoing(url, callback.smsDelivery()))).toMatchObject([
    { url, sent: true, intact: true, status: 204 },
  ])
  expect(await receiver.stats()).toMatchObject({ accepted: 1 })
})

test.skipIf(isSkipped)(titleWith(missing, 'are not sent when it is not'), async () => {
  const { receiver, url } = await receivingSecurely()
  const { sender } = sending()
  const [delivery] = await sender.send(outgoing(url, callback.smsDelivery()))
  expect(delivery).toMatchObject({ sent: false, intact: false, error: 'DEPTH_ZERO_SELF_SIGNED_CERT' })
  expect(await receiver.stats()).toMatchObject({ accepted: 0, refused: 0 })
})

test.skipIf(isSkipped).each<[FaultName, number]>([
  ['slowBody', 1],
  ['connectionReset', 0],
])('with %s', async (name, accepted) => {
  const { receiver, url } = await receivingSecurely()
  const { sender } = sending({ ca: certificate?.cert, faults: { [name]: 1 } })
  const [delivery] = await sender.send(outgoing(url, callback.smsDelivery()))
  expect(delivery).toMatchObject({ sent: true, intact: accepted === 1 })
  await expect
    .poll(
      async () => {
        const stats = await receiver.stats()
        return { accepted: stats.accepted, refused: stats.refused }
      },
      { timeout: DEADLINE_MS },
    )
    .toEqual({ accepted, refused: 1 - accepted })
})
