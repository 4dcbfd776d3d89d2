/** Two versions of the package on one database, as during a deploy: each calls functions of its own on the same tables. */
import { setTimeout } from 'node:timers/promises'
import type { Claim, OpenStore } from 'messaging-webhooks/store'
import { migratePostgres, pendingPostgresMigrations } from 'messaging-webhooks/postgres'
import { expect, onTestFinished, test } from 'vitest'
import { FUNCTIONS, type FunctionSet } from '../../../src/stores/postgres/functions/set.ts'
import { openPostgres } from '../../../src/stores/postgres/open.ts'
import { checkSettings } from '../../../src/stores/postgres/settings.ts'
import { claim, digestOf, done, eventOf, namesOf } from './events.ts'
import { describePostgres, freshRole, freshSchema, functionsOf, POSTGRES_URL, rowsOf } from './schema.ts'

const PATIENT = { timeout: 90_000 }
const MESSAGES = 40
const REPORTS = 6
const LEASE_MS = 60_000

/** What the next package may bring: its claims let the token grow by so much. */
const JUMP = 1_000
const jumping = (text: string): string =>
  text.replaceAll('held.token + 1', `held.token + ${JUMP}`).replace('m.token + 1,', `m.token + ${JUMP},`)
const NEXT: FunctionSet = {
  number: FUNCTIONS.number + 1,
  text: jumping(FUNCTIONS.text),
  partitioned: jumping(FUNCTIONS.partitioned),
}
const OLD = { functions: FUNCTIONS, growth: 1 }
const NEW = { functions: NEXT, growth: JUMP }
const namesIn = ({ number }: FunctionSet): unknown => expect.stringMatching(new RegExp(`^[a-z_]+_${number}$`))

async function opened(schema: string, functions: FunctionSet, url = POSTGRES_URL): Promise<OpenStore<object>> {
  const settings = checkSettings({ connectionString: url, schema, maxConnections: 3 }, 'this test')
  const open = await openPostgres(settings, { onWork() {}, claims: false }, functions)
  onTestFinished(async () => open.close())
  return open
}

describePostgres('two versions of the package', () => {
  test('take, hand over and settle at once: each event once and in its order', PATIENT, async () => {
    const schema = freshSchema()
    // They migrate at once, too.
    const clients = await Promise.all(
      [OLD, NEW, OLD, NEW].map(async (version) => ({ ...version, open: await opened(schema, version.functions) })),
    )
    const tokens = new Map<string, number>()
    const handed = new Map<string, number[]>()
    const claimedBy = new Map<object, number>()
    let settled = 0

    async function handOver(open: OpenStore<object>, claims: readonly Claim[]): Promise<void> {
      for (const { messageKey, token } of claims) tokens.set(messageKey, token)
      // Some of them fail the first time, and come again to whoever asks.
      const isTried = ({ attempt, record }: Claim): boolean => attempt > 1 || record.timestamp % 3 > 0
      const nowMs = Date.now()
      const settlements = claims.map((each) => {
        const { id, messageKey, token } = each
        if (!isTried(each)) return { id, messageKey, token, outcome: 'retry', dueMs: nowMs, error: 'again' } as const
        handed.set(messageKey, [...(handed.get(messageKey) ?? []), each.record.timestamp])
        return done(each)
      })
      expect(await open.settle(settlements, nowMs)).toEqual(claims.map(() => true))
      settled += claims.filter(isTried).length
    }

    async function work({ open, functions, growth }: (typeof clients)[number]): Promise<void> {
      while (settled < MESSAGES * REPORTS) {
        const claims = await claim(open, { limit: 5 })
        for (const { messageKey, token } of claims) expect(token - (tokens.get(messageKey) ?? 0)).toBe(growth)
        claimedBy.set(functions, (claimedBy.get(functions) ?? 0) + claims.length)
        await handOver(open, claims)
        await setTimeout(1)
      }
    }

    /** Each report comes twice at once, to an old one and to a new one. */
    async function take(): Promise<void> {
      const [oldOne, newOne, oldTwo, newTwo] = clients.map(({ open }) => open)
      for (let at = 1; at <= REPORTS; at += 1) {
        const events = Array.from({ length: MESSAGES }, (_, index) => eventOf(`m${index}`, at))
        const [handing, other] = at % 2 === 0 ? [oldOne, newOne] : [newTwo, oldTwo]
        const nowMs = Date.now()
        const request = { limit: 10, nowMs, leaseUntilMs: nowMs + LEASE_MS, exclude: new Set<string>() }
        if (handing?.admitAndClaim === undefined || other === undefined) throw new Error('A client is missing.')
        const [taken, admissions] = await Promise.all([
          handing.admitAndClaim(events, request),
          other.admit(events.toReversed(), nowMs),
        ])
        await handOver(handing, taken.claims)
        const pairs = taken.admissions.map((each, index) => [each, admissions.at(-1 - index)].toSorted())
        expect(pairs).toEqual(events.map(() => ['duplicate', 'new']))
      }
    }

    await Promise.all([take(), ...clients.map(work)])
    for (const { functions, open } of clients) {
      expect(claimedBy.get(functions)).toBeGreaterThan(0)
      expect(await open.counts()).toEqual({ unsettled: 0, deadLetters: 0 })
    }
    const inOrder = Array.from({ length: REPORTS }, (_, index) => eventOf('any', index + 1).record.timestamp)
    expect([...handed.values()]).toEqual(Array.from({ length: MESSAGES }, () => inOrder))
  })

  test.each([
    ['the old one where the new one was before', NEW, OLD],
    ['the new one where the old one was before', OLD, NEW],
  ])('%s: it adds its functions, and both go on', PATIENT, async (_, before, after) => {
    const schema = freshSchema()
    const first = await opened(schema, before.functions)
    await first.admit([eventOf('a'), eventOf('b')], Date.now())
    const theirs = await functionsOf(schema)
    expect(theirs).toEqual(theirs.map(() => namesIn(before.functions)))

    const second = await opened(schema, after.functions)
    const all = await functionsOf(schema)
    expect(all).toEqual(expect.arrayContaining([...theirs]))
    const added = all.filter((name) => !theirs.includes(name))
    expect(added).toEqual(theirs.map(() => namesIn(after.functions)))
    expect(await rowsOf(`SELECT version FROM "${schema}".messaging_webhooks_migrations`)).toEqual([
      { version: 1 },
      { version: 2 },
      { version: 3 },
    ])

    const [held, ...none] = await claim(second, { limit: 1 })
    if (held === undefined) throw new Error('Nothing was handed over.')
    expect([held.token, none]).toEqual([after.growth, []])
    const others = await claim(first)
    expect(others.map(({ token }) => token)).toEqual([before.growth])
    expect(namesOf([held, ...others])).toEqual(['a', 'b'])
    expect(await first.admit([eventOf('a')], Date.now())).toEqual(['duplicate'])
    expect(await second.settle([done(held)], Date.now())).toEqual([true])
    expect(await first.settle(others.map(done), Date.now())).toEqual([true])
    expect(await first.counts()).toEqual({ unsettled: 0, deadLetters: 0 })
  })

  test(
    'a role that may create nothing is told what is missing; whose functions are there goes on',
    PATIENT,
    async () => {
      const schema = freshSchema()
      await opened(schema, NEXT)
      expect(await pendingPostgresMigrations({ connectionString: POSTGRES_URL, schema })).toEqual({
        from: 3,
        to: 3,
        functionsOnly: true,
      })
      const url = await freshRole(schema)
      const old = opened(schema, FUNCTIONS, url)
      await expect(old).rejects.toMatchObject({
        code: 'store_unmigrated',
        message: expect.stringContaining('Only the functions of this package are missing.') as string,
      })
      const newer = await opened(schema, NEXT, url)
      expect(await newer.admit([eventOf('m')], Date.now())).toEqual(['new'])
      const migrated = await migratePostgres({ connectionString: POSTGRES_URL, schema })
      expect(migrated).toEqual({ from: 3, to: 3, functionsOnly: true })
      const older = await opened(schema, FUNCTIONS, url)
      expect(namesOf(await claim(older))).toEqual(['m'])
    },
  )
})

test('what is released under a number stays as it is: a change of the text takes the next number', () => {
  expect([FUNCTIONS.number, digestOf(FUNCTIONS.text), digestOf(FUNCTIONS.partitioned)]).toEqual([
    3,
    '83a083ba96974d6fcff4cb901cca55d9',
    '2a63daa15ad40f6b5737fb124a781be5',
  ])
})
