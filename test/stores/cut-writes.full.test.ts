/**
 * The connection of a process is cut after each kind of write and before its answer. The process repeats the write, as the
 * receiver does; an event that is left waiting runs in another process within a heartbeat or two.
 */
import type { MessageStore } from 'messaging-webhooks/store'
import { claimOf, type Claim } from '../../src/dispatch/claim.ts'
import { afterAll, beforeAll, describe, test, type TestContext } from 'vitest'
import { sent } from '../../src/store-conformance/sends.ts'
import { keyOf, LONG_MS } from '../../src/store-conformance/samples.ts'
import { MYSQL, POSTGRES, REDIS, type EngineServer } from '../support/servers/engines.ts'
import { storeOf } from '../support/servers/store-spec.ts'
import { startTcpProxy } from '../support/servers/tcp-proxy.ts'
import { admit, admitting, claim, eventOf, opened, settleAll } from './postgres/events.ts'

const TIMEOUT = { timeout: 120_000 }
/** A lease lasts an hour. Heartbeats are sent every two seconds, and a process is dead after ten. */
const SOON = { timeout: 20_000 }

/**
 * What the client sends in a write of a record: a part of the statement, or of the key. Before the lease of a waiting event,
 * MySQL commits its reservation.
 */
const ENGINES = [
  { engine: POSTGRES, bytes: '.records', lease: { bytes: 'UPDATE ', times: 1 } },
  { engine: MYSQL, bytes: '\x03COMMIT', lease: { bytes: '\x03COMMIT', times: 2 } },
  { engine: REDIS, bytes: ':r:', lease: { bytes: ':r:', times: 1 } },
] as const

interface Case {
  readonly is: string
  /** Makes the write that is cut, and repeats it when asked again. Resolves to the events that it has leased. */
  readonly write: (open: MessageStore) => Promise<readonly Claim[]>
  readonly before?: (open: MessageStore) => Promise<unknown>
  /** What is left to run in another process, and the number of dead letters in the end. */
  readonly runs: number
  readonly deadLetters?: number
}

const EVENT = eventOf('m')

/** The event is claimed before the cut, and settled so. */
function settlement(
  is: string,
  outcome: Parameters<typeof settleAll>[2],
  left: Pick<Case, 'runs' | 'deadLetters'>,
): () => Case {
  return () => {
    let claims: readonly Claim[] = []
    return {
      is,
      async before(open) {
        await admit(open, [EVENT])
        claims = await claim(open)
      },
      async write(open) {
        await settleAll(open, claims, outcome)
        return []
      },
      ...left,
    }
  }
}

const CASES: readonly (() => Case)[] = [
  () => ({
    is: 'an admission',
    async write(open) {
      await admit(open, [EVENT])
      return []
    },
    runs: 1,
  }),
  () => ({
    is: 'an admission with a lease',
    async write(open) {
      const answers = await open.run([admitting(EVENT, LONG_MS)])
      return answers.flatMap(({ granted }) =>
        granted === undefined ? [] : [claimOf(EVENT.messageKey, granted, EVENT)],
      )
    },
    runs: 1,
  }),
  () => ({ is: 'a lease', before: (open) => admit(open, [EVENT]), write: (open) => claim(open), runs: 1 }),
  settlement('a settlement', { outcome: 'done' }, { runs: 0 }),
  settlement('a retry', { outcome: 'retry', inMs: 0 }, { runs: 1 }),
  settlement('a dead letter', { outcome: 'dead', error: 'the reason' }, { runs: 0, deadLetters: 1 }),
  () => ({
    is: 'a replay',
    async before(open) {
      await admit(open, [EVENT])
      await settleAll(open, await claim(open), { outcome: 'dead', error: 'the reason' })
    },
    async write(open) {
      await open.run([{ do: 'resolve', key: EVENT.messageKey, id: EVENT.id, as: 'replay' }])
      return []
    },
    runs: 1,
  }),
  () => ({
    is: 'an expected send',
    async write(open) {
      await open.run([{ do: 'expect', key: keyOf('m'), send: sent('m') }])
      return []
    },
    runs: 0,
  }),
  () => ({
    is: 'an erasure',
    before: (open) => admit(open, [EVENT]),
    async write(open) {
      await open.run([{ do: 'erase', key: EVENT.messageKey, dryRun: false }])
      return []
    },
    runs: 0,
  }),
]

type Context = Pick<TestContext, 'expect' | 'onTestFinished'>

for (const { engine, bytes, lease } of ENGINES) {
  const { name } = engine
  const missing = engine.missing()
  if (missing !== undefined && process.env['CI'] === 'true') throw new Error(missing)
  describe.skipIf(missing !== undefined)(`${name}${missing === undefined ? '' : ` (${missing})`}`, () => {
    let server: EngineServer
    let names = 0
    beforeAll(async () => {
      server = await engine.start()
    }, 120_000)
    afterAll(() => server.remove())

    async function cut(make: () => Case, { expect, onTestFinished }: Context): Promise<void> {
      const { is, before, write, runs, deadLetters = 0 } = make()
      const proxy = await startTcpProxy(server.port ?? expect.unreachable())
      onTestFinished(() => proxy.close())
      const place = `cut_${(names += 1)}`
      const open = await opened(await storeOf(server.spec(place, { port: proxy.port })), {}, onTestFinished)
      const other = await opened(await storeOf(server.spec(place)), {}, onTestFinished)
      await before?.(open)
      const isLease = is === 'a lease'
      const cutting = proxy.cutAfterSending(isLease ? lease.bytes : bytes, isLease ? lease.times : 1)
      // The caller learns of the cut, or the store has repeated the write itself.
      const first = write(open).catch(() => [])
      await cutting
      const held = [...(await first)]
      if (!isLease)
        await expect
          .poll(
            () =>
              write(open).then(
                (claims) => held.push(...claims),
                () => -1,
              ),
            SOON,
          )
          .not.toBe(-1)
      let ran = held.length
      await settleAll(open, held)
      await expect
        .poll(async () => {
          const claims = await claim(other)
          ran += (await settleAll(other, claims)).filter(Boolean).length
          return [ran, await other.counts()]
        }, SOON)
        .toEqual([runs, { unsettled: 0, deadLetters }])
    }

    test.concurrent.for(CASES.map((make) => [make().is, make] as const))('%s', TIMEOUT, ([, make], context) =>
      cut(make, context),
    )
  })
}
