/** The clock of a server is set while processes work: waiting events run, and nothing young is deleted. */
import { rmSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { pruneStep } from '../../src/inbox/pruning.ts'
import { itemsOf, PAGE } from '../../src/store-conformance/suite.ts'
import { MYSQL, POSTGRES, type EngineServer } from '../support/servers/engines.ts'
import { serverFolder } from '../support/servers/own-server.ts'
import { missingFaketime, settableClock } from '../support/servers/settable-clock.ts'
import { storeOf } from '../support/servers/store-spec.ts'
import { admit, claim, eventOf, opened, settleAll } from './postgres/events.ts'

const TIMEOUT = { timeout: 60_000 }
const SOON = { timeout: 10_000 }
const MINUTE_MS = 60_000

for (const engine of [POSTGRES, MYSQL]) {
  const missing = engine.missing() ?? missingFaketime()
  if (missing !== undefined && process.env['CI'] === 'true') throw new Error(missing)
  describe.skipIf(missing !== undefined)(`${engine.name}${missing === undefined ? '' : ` (${missing})`}`, () => {
    const folder = serverFolder('clock')
    const clock = settableClock(folder)
    let server: EngineServer
    beforeAll(async () => {
      server = await engine.start(clock.env)
    }, 60_000)
    afterAll(async () => {
      await server.remove()
      rmSync(folder, { recursive: true, force: true })
    })

    test('set back by two hours: a waiting event and a retry run within 10 s', TIMEOUT, async () => {
      clock.set('+0')
      const open = await opened(await storeOf(server.spec('back')))
      await admit(open, [eventOf('retried')])
      expect(await settleAll(open, await claim(open), { outcome: 'retry', inMs: 1_000 })).toEqual([true])
      await admit(open, [eventOf('waiting')])
      clock.set('-2h')
      const run: string[] = []
      async function runDue(): Promise<number> {
        const claims = await claim(open)
        run.push(...claims.map(({ id }) => id))
        await settleAll(open, claims)
        return run.length
      }
      await expect.poll(runDue, SOON).toBe(2)
      expect(await open.counts()).toEqual({ unsettled: 0, deadLetters: 0 })
    })

    test('40 days ahead: deletes nothing until that has lasted an hour', TIMEOUT, async () => {
      clock.set('+0')
      let passedMs = 0
      const elapsedMs = (): number => performance.now() + passedMs
      const open = await opened(await storeOf(server.spec('ahead')), { elapsedMs })
      await admit(open, [eventOf('m')])
      expect(await settleAll(open, await claim(open))).toEqual([true])
      expect(await pruneStep(open)).toBe(0)
      async function pruneAfter(ms: number): Promise<number> {
        passedMs += ms
        // The store learns the time of the server from an answer.
        await claim(open)
        return pruneStep(open)
      }
      clock.set('+40d')
      expect(await pruneAfter(0)).toBe(0)
      expect(await pruneAfter(MINUTE_MS)).toBe(0)
      clock.set('+0')
      expect(await pruneAfter(MINUTE_MS)).toBe(0)
      expect(await pruneAfter(70 * MINUTE_MS)).toBe(0)
      expect(await itemsOf(open, { of: 'events', ...PAGE })).toHaveLength(1)
      clock.set('+40d')
      expect(await pruneAfter(0)).toBe(0)
      expect(await pruneAfter(59 * MINUTE_MS)).toBe(0)
      expect(await pruneAfter(2 * MINUTE_MS)).toBe(1)
    })
  })
}
