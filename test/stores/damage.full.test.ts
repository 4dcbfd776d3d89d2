/**
 * Stored data that another program has corrupted: a payload or record that cannot be read is reported once with its key and becomes
 * a dead letter. Every other event is dispatched, and later events of the same message too.
 */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Redis } from 'ioredis'
import type { MessagingWebhooksError, Store } from 'messaging-webhooks'
import { mysqlStore } from 'messaging-webhooks/mysql'
import { postgresStore } from 'messaging-webhooks/postgres'
import type { NewExpectation, OpenStore } from 'messaging-webhooks/store'
import { sqliteStore } from 'messaging-webhooks/sqlite'
import { callback } from 'messaging-webhooks/testing'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createPartitions } from '../../src/stores/redis/partitions.ts'
import {
  admit,
  claim,
  LEASE_MS,
  list,
  sample,
  samplesOf,
  settlementOf,
  START_MS,
} from '../../src/store-conformance/samples.ts'
import { deadLettersOf, die, DONE } from '../../src/store-conformance/suite.ts'
import { describeMysql, freshPrefix, MYSQL_URL, rowsOf as mysqlRows } from './mysql/database.ts'
import { describePostgres, freshSchema, POSTGRES_URL, rowsOf as postgresRows } from './postgres/schema.ts'
import { clientFor, describeRedis, freshPrefix as freshRedisPrefix, toldStore, useRedis } from './redis/own-redis.ts'
import { ownFolder } from '../support/own-folder.ts'
import { post, receiving } from '../support/receiving.ts'
import { engineStore } from './sqlite/engine-store.ts'

/** The corrupted event, the first of its message. */
const SECRET = 'what-no-report-may-quote'
const TARGET = sample({ message: 'corrupt', raw: Buffer.from(JSON.stringify({ text: SECRET })) })
const { id, messageKey: key } = TARGET
const OTHERS = samplesOf(20, 'other')
const LATER_MS = START_MS + 2 * LEASE_MS

/** Whether the record or only the payload cannot be read. */
type Part = 'record' | 'payload'
type Damages = Readonly<Record<string, readonly [part: Part, change: string]>>
type Corrupt = (change: string) => unknown
type Fresh = () => { readonly store: Store<object>; readonly corrupt: Corrupt }

function sent(message: string): NewExpectation {
  const [sentAtMs, overdueAtMs] = [START_MS, START_MS + LEASE_MS]
  const expectation = { messageId: message, sentAtMs }
  return { messageKey: sample({ message }).messageKey, sentAtMs, overdueAtMs, expectation }
}

/** Dispatches everything that is due, and returns the ids. */
async function dispatchAll(open: OpenStore<object>, nowMs: number): Promise<readonly string[]> {
  const ids: string[] = []
  for (let isMore = true; isMore;) {
    const { claims } = await claim(open, { nowMs, leaseUntilMs: nowMs + LEASE_MS })
    const held = await open.settle(
      claims.map((each) => settlementOf(each, DONE)),
      nowMs,
    )
    expect(held).toEqual(claims.map(() => true))
    ids.push(...claims.map((each) => each.id))
    isMore = claims.length > 0
  }
  return ids
}

async function check(
  { store, corrupt }: ReturnType<Fresh>,
  [part, change]: readonly [Part, string],
  isLeased: boolean,
) {
  const reports: MessagingWebhooksError[] = []
  const open = await store.open({ onWork() {}, report: (error) => void reports.push(error) })
  onTestFinished(async () => {
    await open.close()
  })
  await open.expect?.(['corrupt', 'other'].map(sent), START_MS)
  await admit(open, [...OTHERS.slice(0, 10), TARGET, ...OTHERS.slice(10)])
  if (isLeased) await claim(open, { limit: OTHERS.length + 1 })
  await corrupt(change)
  await list(open)

  const dispatched = await dispatchAll(open, LATER_MS)
  expect(dispatched.toSorted()).toEqual(OTHERS.map((one) => one.id).toSorted())
  const letterId = part === 'record' ? key : id
  const letters = await deadLettersOf(open)
  expect(letters.map((letter) => letter.id)).toEqual([letterId])
  expect(letters[0]?.record.problem).toBe('damaged')
  expect(reports.map(({ code }) => code)).toEqual(['event_damaged'])
  expect(reports[0]?.detail).toContain(key)
  expect(JSON.stringify([reports, reports.map(({ stack }) => stack)])).not.toContain(SECRET)
  expect(await open.counts()).toEqual({ unsettled: 0, deadLetters: 1 })

  const next = sample({ message: 'corrupt', at: 2 })
  expect(await admit(open, [next, ...OTHERS], LATER_MS)).toEqual(['new', ...OTHERS.map(() => 'duplicate')])
  expect(await dispatchAll(open, LATER_MS)).toEqual([next.id])
  expect((await open.latest(key))?.record.report?.status).toBe(next.record.report?.status)
  const overdue = await open.overdue?.({ nowMs: LATER_MS, limit: 10 })
  expect(overdue?.items.map(({ expectation }) => expectation.messageId)).toEqual(
    part === 'record' ? ['other'] : expect.arrayContaining(['corrupt', 'other']),
  )

  await open.prune(LATER_MS)
  expect(reports).toHaveLength(1)
  expect(await open.resolve(letterId, 'replay', LATER_MS)).toBe(true)
  expect(await dispatchAll(open, LATER_MS)).toEqual([])
  expect(await open.resolve(letterId, 'discard', LATER_MS)).toBe(true)
  expect(await open.counts()).toEqual({ unsettled: 0, deadLetters: 0 })
  await open.forget({ targets: [{ messageKey: key }], dryRun: false }, LATER_MS)
  expect(await open.latest(key)).toBeUndefined()
}

function testDamages(fresh: Fresh, damages: Damages): void {
  describe.each(Object.entries(damages))('%s', (_, damage) => {
    test('while it waits', () => check(fresh(), damage, false))
    if (damage[0] === 'record') test('while it is leased', () => check(fresh(), damage, true))
  })
}

/** A number that JavaScript cannot represent would make the other rows unreadable, so the tables refuse it. */
function testRefusals(fresh: Fresh, columns: Readonly<Record<string, readonly string[]>>): void {
  test('numbers that JavaScript cannot represent are refused', async () => {
    const { store, corrupt } = fresh()
    const open = await store.open({ onWork() {}, claims: false })
    onTestFinished(async () => {
      await open.close()
    })
    await die(open, [sample()])
    await admit(open, [sample({ message: 'waiting' })])
    for (const [table, names] of Object.entries(columns))
      for (const name of names)
        for (const value of ['9223372036854775807', '-9223372036854775808']) {
          const change = async () => corrupt(`UPDATE {${table}} SET ${name} = ${value}`)
          await expect(change(), `${table}.${name}`).rejects.toThrow(/constraint|out of range/i)
        }
  })
}

/** `digest`: the column of a record's key. `text` writes a text as bytes. */
function sqlDamages(digest: string, bytes: (hex: string) => string, text: (text: string) => string): Damages {
  const record = `WHERE ${digest} = ${bytes(key)}`
  const payload = `WHERE id = ${bytes(id)}`
  return {
    'a state that is not JSON': ['record', `UPDATE {records} SET state = ${text('no')} ${record}`],
    'a state of another shape': ['record', `UPDATE {records} SET state = ${text('[0,"one"]')} ${record}`],
    'a send that is not JSON': ['record', `UPDATE {records} SET send = ${text('0no')} ${record}`],
    'an event that is not JSON': ['payload', `UPDATE {payloads} SET {event} = ${text('no')} ${payload}`],
    'an event of another shape': ['payload', `UPDATE {payloads} SET {event} = ${text('{"project":"a"}')} ${payload}`],
    'no event': ['payload', `UPDATE {payloads} SET {event} = NULL ${payload}`],
    'no body': ['payload', `UPDATE {payloads} SET raw = NULL ${payload}`],
    'no payload': ['payload', `DELETE FROM {payloads} ${payload}`],
  }
}

describe('SQLite', () => {
  function fresh() {
    const path = join(ownFolder(), 'inbox.db')
    const corrupt: Corrupt = (change) => {
      const db = new DatabaseSync(path)
      try {
        db.exec(change.replaceAll('{event}', 'record').replaceAll(/[{}]/g, ''))
      } finally {
        db.close()
      }
    }
    return { store: engineStore(path), corrupt }
  }
  const bytes = (hex: string): string => `x'${hex}'`
  const ofRecord = sqlDamages('key', bytes, (text) => `'${text}'`)
  const ofPayload = sqlDamages('key', bytes, (text) => `CAST('${text}' AS BLOB)`)
  const isOfRecord = ([, [part]]: readonly [string, Damages[string]]): boolean => part === 'record'
  testDamages(fresh, {
    ...Object.fromEntries(Object.entries(ofRecord).filter(isOfRecord)),
    ...Object.fromEntries(Object.entries(ofPayload).filter((one) => !isOfRecord(one))),
  })
  testRefusals(fresh, { records: ['overdue_at', 'due'] })

  test('a receiver lists it among the dead letters, and its health says so', async () => {
    const path = join(ownFolder(), 'inbox.db')
    const first = await receiving({ store: sqliteStore(path), dispatch: false })
    expect(await post(first.url, callback.smsDelivery({ messageId: 'm1' }))).toMatchObject({ status: 204 })
    await first.receiver.close()
    const db = new DatabaseSync(path)
    db.exec(`UPDATE records SET state = 'no'`)
    db.close()
    const { receiver, errors } = await receiving({ store: sqliteStore(path) })
    const seen: string[] = []
    receiver.onAny((event) => void seen.push(event.type))
    await receiver.start()
    await expect.poll(() => errors.map(({ code }) => code)).toEqual(['event_damaged'])
    const letters = (await receiver.deadLetters.list()).items
    expect(letters.map(({ attempts, error }) => [attempts, error])).toEqual([[1, expect.stringContaining('read')]])
    const { working, reasons } = await receiver.health()
    expect([working, reasons.map(({ code }) => code)]).toEqual([true, ['event_damaged']])
    expect(seen).toEqual([])
  })
})

describePostgres('Postgres', () => {
  function fresh() {
    const schema = freshSchema()
    const corrupt: Corrupt = (change) =>
      postgresRows(change.replaceAll('{event}', 'event').replaceAll(/\{(\w+)\}/g, `"${schema}".$1`))
    const place = { connectionString: POSTGRES_URL, schema }
    return { store: postgresStore({ ...place, clock: 'caller', maxConnections: 2 }), corrupt }
  }
  const bytes = (hex: string): string => `'\\x${hex}'::bytea`
  testDamages(fresh, {
    ...sqlDamages('key', bytes, (text) => `convert_to('${text}', 'UTF8')`),
    'reports that are not JSON': ['record', `UPDATE {records} SET reports = '\\xfffe' WHERE key = ${bytes(key)}`],
  })
  testRefusals(fresh, {
    records: ['version', 'sent_at', 'overdue_at'],
    due: ['at', 'held_until', 'waiting'],
    payloads: ['admitted_at'],
    dead_letters: ['died_at'],
  })
})

describeMysql('MySQL', () => {
  function fresh() {
    const prefix = freshPrefix()
    const corrupt: Corrupt = (change) =>
      mysqlRows(change.replaceAll('{event}', 'event').replaceAll(/\{(\w+)\}/g, `\`${prefix}_$1\``))
    return { store: mysqlStore({ uri: MYSQL_URL, prefix, clock: 'caller', maxConnections: 2 }), corrupt }
  }
  const bytes = (hex: string): string => `x'${hex}'`
  testDamages(fresh, {
    ...sqlDamages('digest', bytes, (text) => `'${text}'`),
    'no reports': ['record', `UPDATE {records} SET reports = NULL WHERE digest = ${bytes(key)}`],
  })
  testRefusals(fresh, {
    records: ['version', 'sent_at', 'overdue_at', 'due_at', 'held_until', 'waiting'],
    payloads: ['admitted_at'],
    dead_letters: ['died_at'],
  })
})

describeRedis('Redis', () => {
  const server = useRedis({ appendonly: 'no' })
  function fresh() {
    const direct = new Redis(server().url())
    const { client, end } = clientFor('redis', server().url())
    onTestFinished(async () => {
      direct.disconnect()
      await end()
    })
    const prefix = freshRedisPrefix()
    const { base } = createPartitions(prefix, 1).of(key)
    const keys = [`${base}r:${key}`, `${base}s:${key}`, `${base}p:${key}:${id}`]
    return { store: toldStore(client, { prefix }), corrupt: (lua: string) => direct.eval(lua, keys.length, ...keys) }
  }
  const set = (place: number, value: string): string => `
    local old = redis.call('GET', KEYS[${place}])
    redis.call('SET', KEYS[${place}], ${value}, 'KEEPTTL')`
  testDamages(fresh, {
    'a record that is not JSON': ['record', set(1, `string.sub(old, 1, 12) .. 'no'`)],
    'a record of another shape': ['record', set(1, `string.sub(old, 1, 12) .. '[0,"one"]'`)],
    'a record without a version': ['record', set(1, `'another value'`)],
    'a list instead of a record': ['record', `redis.call('DEL', KEYS[1]) redis.call('RPUSH', KEYS[1], 'one')`],
    'a send that is not JSON': ['record', set(2, `'no'`)],
    'an event that is not JSON': ['payload', set(3, `string.sub(old, 1, 15) .. 'no' .. string.match(old, '\\n.*')`)],
    'a truncated payload': ['payload', set(3, `string.sub(old, 1, 30)`)],
    'no payload': ['payload', `redis.call('DEL', KEYS[3])`],
  })
})
