/** Sessions that the application, a role or a server has set in unusual ways: everything comes back as it was stored, byte for byte. */
import type { Store } from 'messaging-webhooks'
import { mysqlStore } from 'messaging-webhooks/mysql'
import { postgresStore } from 'messaging-webhooks/postgres'
import type { NewEvent } from 'messaging-webhooks/store'
import { createPool } from 'mysql2/promise'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { digestOf, settling } from '../../src/store-conformance/samples.ts'
import { describeMysql, freshPrefix, MYSQL_URL } from './mysql/database.ts'
import { admit, claim, eventOf, opened } from './postgres/events.ts'
import { describePostgres, freshSchema, onServer, POSTGRES_URL, rowsOf } from './postgres/schema.ts'

const TIMEOUT = { timeout: 60_000 }

const EVERY_BYTE = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))
const TEXTS = [
  String.raw`quotes ' '' " "" \ \' \\ ` + '` $1 $$ ? :name %s -- /* {x}',
  'é ñ 日本語 ソ表 한국어 😀 ﷽',
  'NUL \0 and \u0001\u001f\u007f\u0080\u2028\ufeff',
  'lone surrogates \ud800 \udfff',
  String.fromCharCode(...EVERY_BYTE),
]
const BODIES = [
  ...TEXTS.map((text) => Buffer.from(text)),
  EVERY_BYTE,
  Buffer.alloc(0),
  Buffer.alloc(256 * 1024, EVERY_BYTE),
  Buffer.from('{"text":"ソ表\\u0000"}', 'utf16le'),
]

function events(): readonly NewEvent[] {
  return BODIES.map((raw, index) => {
    const text = TEXTS[index % TEXTS.length] ?? ''
    const event = eventOf(`m${index}`, 1, raw)
    const { report } = event.record
    if (report === undefined) throw new Error('The sample has a report.')
    return {
      ...event,
      record: { ...event.record, tracestate: text, report: { ...report, messageId: text, status: text } },
    }
  })
}

async function checkRoundTrip(store: Store<object>): Promise<void> {
  const open = await opened(store)
  const sent = events()
  expect(await admit(open, sent)).toEqual(sent.map(() => 'new'))
  expect(await admit(open, sent)).toEqual(sent.map(() => 'duplicate'))
  const claims = await claim(open)
  const stored = new Map(claims.map(({ id, record, raw }) => [id, { record, raw }]))
  for (const { id, record, raw } of sent) expect(stored.get(id)).toEqual({ record, raw })
  // Lists of everything, and one that the server searches for a text.
  const found = await open.scan({ of: 'events', after: undefined, limit: 100 })
  expect(new Set(found.items.map(({ id }) => id))).toEqual(new Set(sent.map(({ id }) => id)))
  for (const text of TEXTS.slice(0, 3)) {
    const about = await open.scan({ of: 'events', after: undefined, limit: 100, about: [text] })
    expect(about.items.map(({ record }) => record?.report?.messageId)).toEqual(
      sent.flatMap(({ record }) => (record.report?.messageId === text ? [text] : [])),
    )
  }
  for (const [index, claimed] of claims.entries()) {
    const error = TEXTS[index % TEXTS.length] ?? ''
    expect(await open.run([settling(claimed, { outcome: 'dead', error })])).toMatchObject([{ held: true }])
    const [dead] = (await open.scan({ of: 'deadLetters', after: undefined, limit: 1, id: claimed.id })).items
    // A lone surrogate has no bytes in UTF-8.
    expect(dead?.error).toBe(error.toWellFormed())
  }
  const key = digestOf('message m0')
  expect((await open.scan({ of: 'events', after: undefined, limit: 10, key })).items).toHaveLength(1)
  expect(await open.counts()).toEqual({ unsettled: 0, deadLetters: sent.length })
}

describePostgres('Postgres', () => {
  const ways = [
    ['backslashes in strings escape', { options: '-c standard_conforming_strings=off -c escape_string_warning=off' }],
    ['the client speaks SJIS', { client_encoding: 'SJIS' }],
    ['the client speaks GBK', { client_encoding: 'GBK' }],
    ['the client speaks LATIN1', { client_encoding: 'LATIN1' }],
    ['bytes are sent escaped', { options: '-c bytea_output=escape' }],
    ['the search path is of others', { options: '-c search_path=nowhere,pg_temp' }],
    ['transactions are serializable', { options: '-c default_transaction_isolation=serializable' }],
    [
      'dates and numbers have other forms',
      { options: '-c DateStyle=SQL,DMY -c extra_float_digits=-15 -c TimeZone=Asia/Kathmandu' },
    ],
    ['pipelined', { pipeline: true }],
  ] as const
  test.each(ways)('%s', TIMEOUT, async (_, options) => {
    const pool = new pg.Pool({ connectionString: POSTGRES_URL, ...options })
    onTestFinished(() => pool.end())
    await checkRoundTrip(postgresStore({ pool, schema: freshSchema() }))
  })

  test.each(['SQL_ASCII', 'LATIN1', 'EUC_JP'])('a database in %s', TIMEOUT, async (encoding) => {
    const name = `mw_odd_${encoding.toLowerCase()}_${process.pid}`
    await rowsOf(`CREATE DATABASE ${name} ENCODING '${encoding}' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'`)
    const url = new URL(POSTGRES_URL)
    url.pathname = `/${name}`
    onTestFinished(async () => {
      await rowsOf(`DROP DATABASE ${name} WITH (FORCE)`)
    })
    for (const place of [{ connectionString: url.href }, { pool: new pg.Pool({ connectionString: url.href }) }]) {
      const schema = 'pool' in place ? 'odd_pool' : 'odd'
      await checkRoundTrip(postgresStore({ ...place, schema }))
      if ('pool' in place) await place.pool.end()
    }
    await onServer((client) => client.query('SELECT 1'), url.href)
  })
})

describeMysql('MySQL', () => {
  const settings = [
    "sql_mode = 'NO_BACKSLASH_ESCAPES,ANSI_QUOTES,PIPES_AS_CONCAT'",
    'NAMES utf8mb3',
    'NAMES latin1',
    'NAMES gbk',
    'NAMES sjis',
    "collation_connection = 'ucs2_general_ci'",
    "collation_connection = 'utf16_general_ci'",
    "collation_connection = 'utf32_general_ci'",
    'character_set_results = NULL',
    'sql_safe_updates = 1',
    'sql_select_limit = 1',
    "time_zone = '+05:45'",
    'tx_isolation = SERIALIZABLE',
    'autocommit = 0',
  ]
  test.each(settings)('SET %s', TIMEOUT, async (setting) => {
    const pool = createPool({ uri: MYSQL_URL })
    onTestFinished(() => pool.end())
    pool.on('connection', (connection) => void connection.query(`SET ${setting}`))
    await checkRoundTrip(mysqlStore({ pool, prefix: freshPrefix() }))
  })

  test.each(['UTF8_GENERAL_CI', 'LATIN1_SWEDISH_CI', 'SJIS_JAPANESE_CI', 'GBK_CHINESE_CI'])(
    'a pool in %s',
    TIMEOUT,
    async (charset) => {
      const pool = createPool({ uri: MYSQL_URL, charset, dateStrings: true, decimalNumbers: true, rowsAsArray: true })
      onTestFinished(() => pool.end())
      await checkRoundTrip(mysqlStore({ pool, prefix: freshPrefix() }))
    },
  )
})
