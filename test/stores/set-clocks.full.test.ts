/** The clock of a server is set while processes work: waiting events run, and nothing young is deleted. */
import { rmSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Claim } from '../../src/dispatch/claim.ts'
import { pruneStep } from '../../src/inbox/pruning.ts'
import { keyOf } from '../../src/store-conformance/samples.ts'
import { sent } from '../../src/store-conformance/sends.ts'
import { itemsOf, PAGE } from '../../src/store-conformance/suite.ts'
import { MYSQL, POSTGRES, REDIS, type EngineServer } from '../support/servers/engines.ts'
import { serverFolder } from '../support/servers/own-server.ts'
import { missingCompiler, settableClock } from '../support/servers/settable-clock.ts'
import { storeOf } from '../support/servers/store-spec.ts'
import { admit, claim, eventOf, opened, settleAll } from './postgres/events.ts'

const TIMEOUT = { timeout: 60_000 }
const SOON = { timeout: 10_000 }
const MINUTE_MS = 60_000
const HOUR_S = 3_600

for (const engine of [POSTGRES, MYSQL, REDIS]) {
  const missing = engine.missing() ?? missingCompiler()
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
      clock.set(0)
      const open = await opened(await storeOf(server.spec('back')))
      await admit(open, [eventOf('retried')])
      expect(await settleAll(open, await claim(open), { outcome: 'retry', inMs: 1_000 })).toEqual([true])
      await admit(open, [eventOf('waiting')])
      clock.set(-2 * HOUR_S)
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

    test(
      'clocks of processes that are an hour apart: events and retries run in time in any of them',
      TIMEOUT,
      async () => {
        clock.set(0)
        const processes = await Promise.all(
          [-HOUR_S, 0, HOUR_S].map(async (aheadS) => {
            const nowMs = (): number => Date.now() + aheadS * 1_000
            return opened(await storeOf(server.spec('apart')), { nowMs })
          }),
        )
        for (const [index, admitting] of processes.entries())
          for (const [place, settling] of processes.entries()) {
            expect(await admit(admitting, [eventOf(`m${index}${place}`)])).toEqual(['new'])
            const first: Claim[] = []
            // Its estimate of the server's clock may be some milliseconds behind.
            await expect.poll(async () => first.push(...(await claim(settling))), SOON).toBe(1)
            expect(await settleAll(settling, first, { outcome: 'retry', inMs: 500 })).toEqual([true])
            const again = processes[(index + 1) % processes.length] ?? admitting
            const retried: Claim[] = []
            await expect.poll(async () => retried.push(...(await claim(again))), SOON).toBe(1)
            expect(await settleAll(again, retried)).toEqual([true])
          }
      },
    )

    test('40 days ahead: deletes nothing until that has lasted an hour', TIMEOUT, async () => {
      clock.set(0)
      let passedMs = 0
      const elapsedMs = (): number => performance.now() + passedMs
      const open = await opened(await storeOf(server.spec('ahead')), { elapsedMs })
      await admit(open, [eventOf('m')])
      expect(await settleAll(open, await claim(open))).toEqual([true])
      expect(await admit(open, [eventOf('waiting')])).toEqual(['new'])
      expect(await settleAll(open, await claim(open), { outcome: 'retry', inMs: 1_000 })).toEqual([true])
      expect(await pruneStep(open)).toBe(0)
      async function pruneAfter(ms: number): Promise<number> {
        passedMs += ms
        // The store learns the time of the server from an answer.
        await claim(open)
        return pruneStep(open)
      }
      clock.set(40 * 24 * HOUR_S)
      expect(await pruneAfter(0)).toBe(0)
      expect(await pruneAfter(MINUTE_MS)).toBe(0)
      const starting = await opened(await storeOf(server.spec('ahead')))
      expect(await pruneStep(starting)).toBe(0)
      clock.set(0)
      expect(await pruneAfter(MINUTE_MS)).toBe(0)
      expect(await pruneAfter(70 * MINUTE_MS)).toBe(0)
      expect(await itemsOf(open, { of: 'events', ...PAGE })).toHaveLength(2)
      expect(await admit(open, [eventOf('m')])).toEqual(['duplicate'])
      clock.set(40 * 24 * HOUR_S)
      expect(await pruneAfter(0)).toBe(0)
      expect(await pruneAfter(59 * MINUTE_MS)).toBe(0)
      expect(await pruneAfter(2 * MINUTE_MS)).toBe(1)
      // What is unsettled stays, however old.
      expect(await itemsOf(open, { of: 'events', ...PAGE })).toHaveLength(1)
      expect(await open.counts()).toEqual({ unsettled: 1, deadLetters: 0 })
    })

    test('40 days ahead: makes no message overdue until that has lasted an hour', TIMEOUT, async () => {
      clock.set(0)
      let passedMs = 0
      const elapsedMs = (): number => performance.now() + passedMs
      const open = await opened(await storeOf(server.spec('overdue')), { elapsedMs })
      const key = keyOf('m')
      expect(await open.run([{ do: 'expect', key, send: sent('m') }])).toEqual(['new'])
      async function overdueAfter(ms: number): Promise<readonly string[]> {
        passedMs += ms
        await claim(open)
        return (await open.due({ of: 'sends', limit: 10 })).keys
      }
      expect(await overdueAfter(0)).toEqual([])
      clock.set(40 * 24 * HOUR_S)
      expect(await overdueAfter(0)).toEqual([])
      expect(await overdueAfter(59 * MINUTE_MS)).toEqual([])
      clock.set(0)
      expect(await overdueAfter(0)).toEqual([])
      clock.set(40 * 24 * HOUR_S)
      expect(await overdueAfter(0)).toEqual([])
      expect(await overdueAfter(61 * MINUTE_MS)).toEqual([key])
    })
  })
}
