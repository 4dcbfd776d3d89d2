/**
 * The connection of a process is cut after each kind of write and before its answer. The process repeats the write, as the
 * receiver does: nothing is lost, and nothing runs twice. An event whose lease was in the lost answer runs in another process
 * once a heartbeat has given the lease back. Here that is the next heartbeat, because the server makes the write at once. At the
 * latest it is the first one after the write can no longer take effect. `catchUp` writes only after a clock was set back:
 * set-clocks.full.test.ts tests it.
 */
import type { Awaitable, Command, MessageStore } from 'messaging-webhooks/store'
import { claimOf, type Claim } from '../../src/dispatch/claim.ts'
import { afterAll, beforeAll, describe, test, type TestContext } from 'vitest'
import { sent } from '../../src/store-conformance/sends.ts'
import { compareAndSet } from '../../src/stores/redis/scripts.ts'
import type { NewSend, Resolution } from '../../src/messages/commands.ts'
import { LONG_MS } from '../../src/store-conformance/samples.ts'
import { MYSQL, POSTGRES, REDIS, type EngineServer } from '../support/servers/engines.ts'
import { storeOf } from '../support/servers/store-spec.ts'
import { startTcpProxy } from '../support/servers/tcp-proxy.ts'
import { admit, admitting, claim, eventOf, hostOf, opened, settleAll, settling } from './postgres/events.ts'

const TIMEOUT = { timeout: 120_000 }
/** A lease lasts an hour. Heartbeats are sent every two seconds, and a process is dead after ten. */
const SOON = { timeout: 8_000 }

interface Cut {
  readonly bytes: string
  readonly times?: number
}

/**
 * What the client sends only in a write of a record, in a lease, and at the end of the transaction of a handler. Postgres gets
 * statements by name once they are prepared, so the bytes are of a parameter. Before the lease of a waiting event, MySQL commits
 * its reservation.
 */
const ENGINES: readonly { readonly engine: typeof POSTGRES; readonly cuts: Readonly<Record<Cuts, Cut | undefined>> }[] =
  [
    {
      engine: POSTGRES,
      cuts: { write: { bytes: '"place":' }, lease: { bytes: '"place":' }, commit: { bytes: 'COMMIT\0' } },
    },
    {
      engine: MYSQL,
      cuts: {
        write: { bytes: '\x03COMMIT' },
        lease: { bytes: '\x03COMMIT', times: 2 },
        commit: { bytes: '\x03COMMIT' },
      },
    },
    {
      engine: REDIS,
      cuts: { write: { bytes: compareAndSet.sha }, lease: { bytes: compareAndSet.sha }, commit: undefined },
    },
  ]

type Cuts = 'write' | 'lease' | 'commit'

interface Case {
  readonly is: string
  /** Default `write`. */
  readonly cuts?: Cuts
  /** Makes the write that is cut, and repeats it when asked again. Resolves to the events that it has leased. */
  readonly write: (open: MessageStore) => Promise<readonly Claim[]>
  readonly before?: (open: MessageStore) => Awaitable<unknown>
  /** What is left to run in another process, and the number of dead letters in the end. */
  readonly runs: number
  readonly deadLetters?: number
  /** Whether the record has a send in the end, or is gone. Default: it has none. */
  readonly leaves?: 'a send' | 'no record'
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

/** The event is a dead letter before the cut, and resolved so. */
function resolution(as: Resolution, runs: number): () => Case {
  return () => ({
    is: `a dead letter resolved as ${as}`,
    async before(open) {
      await admit(open, [EVENT])
      await settleAll(open, await claim(open), { outcome: 'dead', error: 'the reason' })
    },
    async write(open) {
      await open.run([{ do: 'resolve', key: EVENT.messageKey, id: EVENT.id, as }])
      return []
    },
    runs,
  })
}

/** The message was sent before the cut. */
function ofSend(is: string, send: NewSend, commands: readonly Command[], left: Pick<Case, 'runs' | 'leaves'>): Case {
  return {
    is,
    before: (open) => open.run([{ do: 'expect', key: EVENT.messageKey, send }]),
    async write(open) {
      await open.run(commands)
      return []
    },
    ...left,
  }
}

/** The event is leased in the transaction of a handler, which then ends. */
function transaction(): Case {
  let claims: readonly Claim[] = []
  return {
    is: 'the transaction of a handler',
    cuts: 'commit',
    async before(open) {
      await admit(open, [EVENT])
      claims = await claim(open)
    },
    async write(open) {
      for (const claimed of claims) {
        const { commit } = (await open.transactions?.begin()) ?? {}
        await commit?.(settling(claimed))
      }
      return []
    },
    runs: 0,
  }
}

/** The lease is ended as if its worker had died. */
function release(): Case {
  let worker = ''
  return {
    is: 'the end of a lease',
    async before(open) {
      await admit(open, [EVENT])
      await claim(open)
      const [record] = await open.run([{ do: 'read', key: EVENT.messageKey }])
      worker = record?.lease?.worker ?? ''
    },
    async write(open) {
      await open.run([{ do: 'release', key: EVENT.messageKey, worker }])
      return []
    },
    runs: 1,
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
  () => ({
    is: 'a lease',
    cuts: 'lease',
    before: (open) => admit(open, [EVENT]),
    write: (open) => claim(open),
    runs: 1,
  }),
  settlement('a settlement', { outcome: 'done' }, { runs: 0 }),
  settlement('a retry', { outcome: 'retry', inMs: 0 }, { runs: 1 }),
  settlement('an event that is given back', { outcome: 'release', inMs: 0 }, { runs: 1 }),
  settlement('a dead letter', { outcome: 'dead', error: 'the reason' }, { runs: 0, deadLetters: 1 }),
  transaction,
  release,
  resolution('replay', 1),
  resolution('force', 1),
  resolution('discard', 0),
  () => ({
    is: 'an expected send',
    async write(open) {
      await open.run([{ do: 'expect', key: EVENT.messageKey, send: sent('m') }])
      return []
    },
    runs: 0,
    leaves: 'a send',
  }),
  () =>
    ofSend('a send that is overdue', sent('m'), [{ do: 'overdue', key: EVENT.messageKey, event: EVENT }], {
      runs: 1,
      leaves: 'a send',
    }),
  () => ofSend('a send that was not made', sent('m'), [{ do: 'endSend', key: EVENT.messageKey }], { runs: 0 }),
  () =>
    ofSend(
      'a send past its retention',
      sent('m', { sentAtMs: 1, overdueInMs: undefined }),
      [{ do: 'expire', key: EVENT.messageKey }],
      { runs: 0, leaves: 'no record' },
    ),
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

for (const { engine, cuts } of ENGINES) {
  const { name } = engine
  const missing = engine.missing()
  if (missing !== undefined && process.env['CI'] === 'true') throw new Error(missing)
  describe.skipIf(missing !== undefined)(`${name}${missing === undefined ? '' : ` (${missing})`}`, () => {
    let server: EngineServer
    let names = 0
    beforeAll(async () => {
      server = await engine.start()
      // Redis knows a script once it has run.
      const open = await (await storeOf(server.spec('first'))).open(hostOf())
      await admit(open, [EVENT])
      await open.close()
    }, 120_000)
    afterAll(() => server.remove())

    async function cut(make: () => Case, { expect, onTestFinished }: Context): Promise<void> {
      const { cuts: kind = 'write', before, write, runs, deadLetters = 0, leaves } = make()
      const { bytes, ...when } = cuts[kind] ?? expect.unreachable()
      const proxy = await startTcpProxy(server.port ?? expect.unreachable())
      onTestFinished(() => proxy.close())
      const place = `cut_${(names += 1)}`
      const open = await opened(
        await storeOf({ ...server.spec(place, { port: proxy.port }), transactional: kind === 'commit' }),
        {},
        onTestFinished,
      )
      const other = await opened(await storeOf(server.spec(place)), {}, onTestFinished)
      await before?.(open)
      const cutting = proxy.cutAfterSending(bytes, when)
      // The caller learns of the cut, or the store has repeated the write itself.
      const first = write(open).catch(() => [])
      await cutting
      const held = [...(await first)]
      if (kind !== 'lease')
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
      const [record] = await other.run([{ do: 'read', key: EVENT.messageKey }])
      expect(record === undefined ? 'no record' : record.send && 'a send').toBe(leaves)
    }

    const made = CASES.filter((make) => cuts[make().cuts ?? 'write'] !== undefined)
    test.concurrent.for(made.map((make) => [make().is, make] as const))('%s', TIMEOUT, ([, make], context) =>
      cut(make, context),
    )
  })
}
