/** Every table of the README says what the code's constants say, row by row and word by word. */
import { readdirSync } from 'node:fs'
import { EVENT_TYPES, memoryStore } from 'messaging-webhooks'
import { OPTIONS } from '../../src/options.ts'
import { postgresStore } from 'messaging-webhooks/postgres'
import { redisStore } from 'messaging-webhooks/redis'
import { sqliteStore } from 'messaging-webhooks/sqlite'
import { createClient } from 'redis'
import { describe, expect, test } from 'vitest'
import { EVENT_HEADER, EVENT_ROWS, EXPECTED_TABLES } from './expected-tables.ts'
import { LOG_CODES } from '../../src/log-codes.ts'
import { readMarkdown, readProjectFile, render, tableOf } from './markdown.ts'

const PROMISE_HEADER = [
  'Store',
  'The process crashes or is killed',
  'The power fails',
  'The machine or its disk is lost',
]

const WHICH_HEADER = ['Store', 'What a 204 means', 'What you must run', 'Speed, memory being 1', 'For']

const readme = readMarkdown(readProjectFile('README.md'))

describe('a table under its heading', () => {
  for (const { under, header, rows } of EXPECTED_TABLES)
    test(`#${under}: ${header.join(', ')}`, () => {
      expect(rows.length, 'the constant gave no row').toBeGreaterThan(0)
      expect(render(tableOf(readme, under, header))).toBe(render(rows))
    })

  test('#events: every type, with the codes and words that lead to it', () => {
    const rows = tableOf(readme, 'events', EVENT_HEADER)
    const derived = rows.map(([type = '', , codes = '', words = '']) => [type, codes, words])
    expect(render(derived)).toBe(render(EVENT_ROWS.map(({ type, codes, words }) => [`\`${type}\``, codes, words])))
    expect(rows).toHaveLength(EVENT_TYPES.length)
  })
})

test('there is no table that no test holds', () => {
  const held = EXPECTED_TABLES.map(({ under, header }) => `${under}: ${header.join(', ')}`)
  const byOtherTests = [
    'examples: Command, What it shows',
    'the-receiver: Method, What it does',
    'counts: Count, What',
    'authentic: Signature header, authKey, `either`, `signature`, `authKey`, `both`',
    `events: ${EVENT_HEADER.join(', ')}`,
    'events: Field, Type, What',
    'events: Field, Type, What',
    'oddities: Oddity, What',
    `what-a-204-promises: ${PROMISE_HEADER.join(', ')}`,
    `which-store: ${WHICH_HEADER.join(', ')}`,
  ]
  const found = readme.sections.flatMap(({ anchor, tables }) =>
    tables.map(([header]) => `${anchor}: ${header?.join(', ') ?? ''}`),
  )
  expect(found.sort()).toEqual([...held, ...byOtherTests].sort())
})

test('every code of a line of the log that tells of no error is in its table', () => {
  const files = readdirSync(new URL('../../src', import.meta.url), { recursive: true, encoding: 'utf8' })
  const written = files
    .filter((name) => name.endsWith('.ts'))
    .flatMap((name) => [...readProjectFile(`src/${name}`).matchAll(/logger\.(\w+)\(\s*\{ code: '(\w+)'/g)])
    .map(([, level, code]) => `${code} ${level}`)
  expect([...new Set(written)].sort()).toEqual(
    Object.entries(LOG_CODES)
      .map(([code, [level]]) => `${code} ${level}`)
      .sort(),
  )
})

test('every store that can be imported stands under “Which store?”', () => {
  const { exports } = JSON.parse(readProjectFile('package.json')) as {
    readonly exports: Readonly<Record<string, { readonly types?: string }>>
  }
  const stores = Object.entries(exports).flatMap(([entry, { types }]) =>
    types?.startsWith('./dist/stores/') === true ? [entry.slice(2)] : [],
  )
  const listed = tableOf(readme, 'which-store', WHICH_HEADER).map(([name = '']) => name.replaceAll('`', ''))
  expect(listed.toSorted()).toEqual([...stores, 'memory'].toSorted())
})

test('what a 204 promises when the process ends is what the stores say of themselves', () => {
  const promised = tableOf(readme, 'what-a-204-promises', PROMISE_HEADER).map(([store = '', crash = '']) => [
    store,
    crash,
  ])
  const postgres = postgresStore({ connectionString: 'unused' })
  const redis = redisStore({ client: createClient() })
  const said = [memoryStore(), sqliteStore('unused.db'), postgres, redis].map(({ capabilities: { name, durable } }) => [
    `\`${name}Store\``,
    durable ? 'kept' : 'lost',
  ])
  expect(promised.slice(0, said.length)).toEqual(said)
})

test('the time that retries take by default is what the table says', () => {
  const numberOf = (name: string): number => Number(OPTIONS.find((row) => row.name === name)?.default)
  let ceilings = 0
  for (let attempt = 1; attempt < numberOf('retry.attempts'); attempt += 1)
    ceilings += Math.min(numberOf('retry.maxDelayMs'), numberOf('retry.initialDelayMs') * 2 ** (attempt - 1))
  const hours = ceilings / 3_600_000
  // “an hour and a half … on average, and at most three and a quarter hours”
  expect(hours / 2).toBeCloseTo(1.5, 0)
  expect(hours).toBeGreaterThan(3)
  expect(hours).toBeLessThanOrEqual(3.25)
})
