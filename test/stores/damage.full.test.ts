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
import type { NewEvent } from 'messaging-webhooks/store'
import { sqliteStore } from 'messaging-webhooks/sqlite'
import { callback } from 'messaging-webhooks/testing'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createPartitions } from '../../src/stores/redis/partitions.ts'
import { claimDue } from '../../src/dispatch/claim.ts'
import { admit, claim, keyOf, LONG_MS, sample, samplesOf, settleAll } from '../../src/store-conformance/samples.ts'
import { sent } from '../../src/store-conformance/sends.ts'
import { die, itemsOf, PAGE, recordOf } from '../../src/store-conformance/suite.ts'
import { describeMysql, freshPrefix, MYSQL_URL, rowsOf as mysqlRows } from './mysql/database.ts'
import { observer, opened } from './postgres/events.ts'
import { describePostgres, freshSchema, POSTGRES_URL, rowsOf as postgresRows } from './postgres/schema.ts'
import { clientFor, describeRedis, freshPrefix as freshRedisPrefix, testStore, useRedis } from './redis/own-redis.ts'
import { ownFolder } from '../support/own-folder.ts'
import { post, receiving } from '../support/receiving.ts'
import { engineStore } from './sqlite/engine-store.ts'

/** The corrupted event, the first of its message. */
const SECRET = 'what-no-report-may-quote'
const TARGET = sample({ message: 'corrupt', raw: Buffer.from(JSON.stringify({ text: SECRET })) })
const { id, messageKey: key } = TARGET
const OTHERS = samplesOf(20, 'other')
const NEXT = sample({ message: 'corrupt', at: 2 })
/** Until the events run again. */
const LEASE_MS = 1_000
const POLL = { timeout: 30_000 }

/** Whether the record or only the payload cannot be read. */
type Part = 'record' | 'payload'
type Damages = Readonly<Record<string, readonly [part: Part, change: string]>>
type Corrupt = (change: string) => unknown
type Fresh = () => { readonly store: Store<object>; readonly corrupt: Corrupt }

/** `isLeased`: while the events are leased, by a process that does not settle them. */
async function check(
  { store, corrupt }: ReturnType<Fresh>,
  [part, change]: readonly [Part, string],
  isLeased: boolean,
): Promise<void> {
  const first = await opened(store)
  await first.run(['corrupt', 'other0'].map((message) => ({ do: 'expect', key: keyOf(message), send: sent(message) })))
  await admit(first, [...OTHERS.slice(0, 10), TARGET, ...OTHERS.slice(10)])
  if (isLeased) await claim(first, { leaseForMs: LEASE_MS })
  await corrupt(change)

  const reports: MessagingWebhooksError[] = []
  const report = (error: MessagingWebhooksError): void => void reports.push(error)
  const open = await opened(store, { report })
  await itemsOf(open, { of: 'events', ...PAGE })
  const run: string[] = []
  const watch = { onLeased() {}, report }
  async function dispatch(): Promise<readonly string[]> {
    const { claims } = await claimDue(open, { limit: 100, leaseForMs: LONG_MS, exclude: new Set() }, watch)
    expect(await settleAll(open, claims)).toEqual(claims.map(() => true))
    run.push(...claims.map((each) => each.id))
    return run.toSorted()
  }
  const idsOf = (events: readonly NewEvent[]): readonly string[] => events.map((event) => event.id).toSorted()
  await expect
    .poll(async () => [await dispatch(), reports.map(({ code }) => code)], POLL)
    .toEqual([idsOf(OTHERS), ['event_damaged']])
  expect(reports[0]?.detail).toContain(key)
  expect(JSON.stringify([reports, reports.map(({ stack }) => stack)])).not.toContain(SECRET)
  const letterId = part === 'record' ? key : id
  const letters = await itemsOf(open, { of: 'deadLetters', ...PAGE })
  expect(letters.map((letter) => letter.id)).toEqual([letterId])
  expect(letters[0]?.record.problem).toBe('damaged')
  expect(await open.counts()).toEqual({ unsettled: 0, deadLetters: 1 })
  const listed = await itemsOf(open, { of: 'events', ...PAGE })
  expect(idsOf(OTHERS).filter((each) => !listed.some((event) => event.id === each))).toEqual([])

  expect(await admit(open, [NEXT, ...OTHERS])).toEqual(['new', ...OTHERS.map(() => 'duplicate')])
  await expect.poll(dispatch, POLL).toEqual(idsOf([...OTHERS, NEXT]))
  expect((await recordOf(open, key))?.latest?.record.report?.status).toBe(NEXT.record.report?.status)
  const sends = await itemsOf(open, { of: 'sends', fromMs: 0, toMs: Infinity, ...PAGE })
  const readable = part === 'record' ? ['other0'] : ['corrupt', 'other0']
  expect(sends.map(({ expectation }) => expectation.messageId).toSorted()).toEqual(readable)
  expect(reports).toHaveLength(1)

  expect(await open.run([{ do: 'resolve', key, id: letterId, as: 'replay' }])).toEqual([true])
  await expect
    .poll(async () => [await dispatch(), await open.counts()], POLL)
    .toEqual([idsOf([...OTHERS, NEXT]), { unsettled: 0, deadLetters: 1 }])
  expect(await open.run([{ do: 'resolve', key, id: letterId, as: 'discard' }])).toEqual([true])
  expect(await open.counts()).toEqual({ unsettled: 0, deadLetters: 0 })
  expect(run.toSorted()).toEqual(idsOf([...OTHERS, NEXT]))
}

function testDamages(fresh: Fresh, damages: Damages): void {
  describe.each(Object.entries(damages))('%s', (_, damage) => {
    test('while it waits', { timeout: 60_000 }, () => check(fresh(), damage, false))
    if (damage[0] === 'record') test('while it is leased', { timeout: 60_000 }, () => check(fresh(), damage, true))
  })
}

/** A number that JavaScript cannot represent would make the other rows unreadable, so the tables refuse it. */
function testRefusals(fresh: Fresh, columns: Readonly<Record<string, readonly string[]>>): void {
  test('numbers that JavaScript cannot represent are refused', async () => {
    const { store, corrupt } = fresh()
    const open = await observer(store)
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
    await expect
      .poll(async () => (await receiver.deadLetters.list()).items.map(({ attempts, error }) => [attempts, error]))
      .toEqual([[1, expect.stringContaining('read')]])
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
    return { store: postgresStore({ ...place, maxConnections: 2 }), corrupt }
  }
  const bytes = (hex: string): string => `'\\x${hex}'::bytea`
  testDamages(fresh, {
    ...sqlDamages('digest', bytes, (text) => `convert_to('${text}', 'UTF8')`),
    'reports that are not JSON': ['record', `UPDATE {records} SET reports = '\\xfffe' WHERE digest = ${bytes(key)}`],
  })
  testRefusals(fresh, {
    records: ['sent_at', 'overdue_at'],
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
    return { store: mysqlStore({ uri: MYSQL_URL, prefix, maxConnections: 2 }), corrupt }
  }
  const bytes = (hex: string): string => `x'${hex}'`
  testDamages(fresh, {
    ...sqlDamages('digest', bytes, (text) => `'${text}'`),
    'no reports': ['record', `UPDATE {records} SET reports = NULL WHERE digest = ${bytes(key)}`],
  })
  testRefusals(fresh, {
    records: ['sent_at', 'overdue_at', 'due_at', 'held_until', 'waiting'],
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
    return { store: testStore(client, { prefix }), corrupt: (lua: string) => direct.eval(lua, keys.length, ...keys) }
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
