/** A store whose server is down as the app starts: callbacks are taken all the same, and dispatched once it is there. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { callback } from 'messaging-webhooks/testing'
import { describe, expect, onTestFinished, test } from 'vitest'
import { POSTGRES, REDIS } from '../support/servers/engines.ts'
import { storeOf } from '../support/servers/store-spec.ts'
import { post, receiving } from '../support/receiving.ts'
import { titleWith } from '../support/skipping.ts'

const PATIENT = { timeout: 120_000 }
const POLL = { timeout: 60_000 }

for (const engine of [POSTGRES, REDIS]) {
  const missing = engine.missing()
  if (missing !== undefined && process.env['CI'] === 'true') throw new Error(missing)

  describe.skipIf(missing !== undefined)(titleWith(missing, engine.name), () => {
    test(
      'with a spool, start() resolves, callbacks are answered 204, and their events run once the server is up',
      PATIENT,
      async () => {
        const server = await engine.start()
        onTestFinished(() => server.remove())
        await server.stop()
        const spool = mkdtempSync(join(tmpdir(), 'away-at-boot-'))
        onTestFinished(() => rmSync(spool, { recursive: true, force: true }))
        const store = await storeOf(server.spec('away_at_boot'))
        const { receiver, url, errors } = await receiving({ store, spool })
        const seen: string[] = []
        receiver.on('message.*', ({ messageId }) => void seen.push(messageId))
        await receiver.start()
        for (const messageId of ['a', 'b', 'c'])
          expect(await post(url, callback.smsDelivery({ messageId }))).toMatchObject({ status: 204 })
        expect(await receiver.health()).toMatchObject({ ready: true, working: false })
        expect(seen).toEqual([])
        expect(errors.map(({ code }) => code)).toEqual(['store_outage'])
        await server.start()
        await expect.poll(() => seen.toSorted(), POLL).toEqual(['a', 'b', 'c'])
        await expect.poll(async () => (await receiver.health()).working, POLL).toBe(true)
      },
    )

    test('without a spool, start() waits for the server and readiness says no', PATIENT, async () => {
      const server = await engine.start()
      onTestFinished(() => server.remove())
      await server.stop()
      const store = await storeOf(server.spec('away_without_spool'))
      const { receiver, url } = await receiving({ store })
      const seen: string[] = []
      receiver.on('message.*', ({ messageId }) => void seen.push(messageId))
      let hasStarted = false
      const started = receiver.start().then(() => (hasStarted = true))
      expect(await post(url, callback.smsDelivery({ messageId: 'lost' }))).toMatchObject({ status: 503 })
      expect(await receiver.health()).toMatchObject({ ready: false })
      expect(hasStarted).toBe(false)
      await server.start()
      await started
      expect(await post(url, callback.smsDelivery({ messageId: 'kept' }))).toMatchObject({ status: 204 })
      await expect.poll(() => seen, POLL).toEqual(['kept'])
    })
  })
}
