/** Every table of the reference matches the code’s constants, row by row and word by word, and the guide lists every example. */
import { readdirSync, existsSync, globSync } from 'node:fs'
import { memoryStore } from 'messaging-webhooks'
import { postgresStore } from 'messaging-webhooks/postgres'
import { mysqlStore } from 'messaging-webhooks/mysql'
import { redisStore } from 'messaging-webhooks/redis'
import { sqliteStore } from 'messaging-webhooks/sqlite'
import { createClient } from 'redis'
import { describe, expect, test } from 'vitest'
import { PAGES, readPage, readProjectFile, render, tableOf, ROOT } from '../../docs/markdown.ts'
import { GENERATED_LISTS, GENERATED_TABLES } from '../../docs/tables.ts'
import { withLists, withTables } from '../../docs/with-tables.ts'
import { LOG_CODES } from '../../docs/log-codes.ts'
import { resolveOptions } from '../../src/receiver/resolve-options.ts'

const PROMISE_HEADER = ['Store', 'The process is killed', 'The power fails', 'The machine or its disk is lost']

const WHICH_HEADER = ['Store', 'What you must run', 'For']

const stores = readPage('docs/guides/stores.md')

describe('a table that `npm run docs:tables` writes', () => {
  for (const { page, under, header, rows } of GENERATED_TABLES)
    test(`${page}#${under}: ${header.join(', ')}`, () => {
      expect(rows.length, 'the constant gave no row').toBeGreaterThan(0)
      expect(render(tableOf(readPage(page), under, header))).toBe(render(rows))
    })
})

describe('a list that `npm run docs:tables` writes', () => {
  for (const { page, under, items } of GENERATED_LISTS)
    test(`${page}#${under}`, () => {
      expect(items.length, 'the constant gave no item').toBeGreaterThan(0)
      expect(readPage(page).sections.find(({ anchor }) => anchor === under)?.items).toEqual(items)
    })
})

describe('the writer of the tables', () => {
  const table = { page: 'a.md', under: 'b', header: ['C', 'D'], rows: [['1', '2']] }

  test('replaces only the rows of the table', () => {
    const page = '# A\n\n| C | D |\n| - | - |\n| x | y |\n\n## B\n\n| C | D |\n| - | - |\n| x | y |\n| x | y |\n\nEnd.'
    const expected = '# A\n\n| C | D |\n| - | - |\n| x | y |\n\n## B\n\n| C | D |\n| --- | --- |\n| 1 | 2 |\n\nEnd.'
    expect(withTables(page, [table])).toBe(expected)
  })

  test('recognises a table with changed columns by its first column', () => {
    const page = '# B\n\n| C | X | Y |\n| - | - | - |\n| x | y | z |\n'
    expect(withTables(page, [table])).toBe('# B\n\n| C | D |\n| --- | --- |\n| 1 | 2 |\n')
  })

  test('replaces only the items of the list', () => {
    const item = (name: string): string => `- <a id="${name}"></a>${name}`
    const page = `# A\n\n${item('x')}\n\n## B\n\n- y\n\n${item('y')}\n${item('z')}\n\nEnd.`
    const expected = `# A\n\n${item('x')}\n\n## B\n\n- y\n\n${item('1')}\n\nEnd.`
    const list = { page: 'a.md', under: 'b', items: [item('1')] }
    expect(withLists(page, [list])).toBe(expected)
    expect(() => withLists('# B\n\n- y\n', [list])).toThrow('a.md has no list of codes under #b')
  })

  test('refuses a page without the table', () => {
    expect(() => withTables('# B\n\n| E |\n| - |\n', [table])).toThrow('a.md has no table with the columns C, D')
  })
})

test('a test checks every table of the reference', () => {
  const held = GENERATED_TABLES.map(({ page, under, header }) => `${page}#${under}: ${header.join(', ')}`)
  const byOtherTests = [
    'docs/reference/receiver.md#the-receiver: Method, What it does',
    'docs/reference/receiver.md#sends: Method, What it does',
    'docs/reference/counts.md#counts: Count, What',
    'docs/reference/events.md#events: Field, Type, What',
    'docs/reference/events.md#events: Field, Type, What',
    'docs/reference/events.md#anomalies: Anomaly, What',
    'docs/reference/sql.md#statements: Part, What the store sends',
  ]
  const found = PAGES.filter((page) => page.startsWith('docs/reference/')).flatMap((page) =>
    readPage(page).sections.flatMap(({ anchor, tables }) =>
      tables.map(([header]) => `${page}#${anchor}: ${header?.join(', ') ?? ''}`),
    ),
  )
  const settings = held.filter((name) => !name.startsWith('docs/reference/'))
  expect([...found, ...settings].sort()).toEqual([...held, ...byOtherTests].sort())
})

test('every log code without an error is in its table', () => {
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

test('“Which store?” lists every importable store', () => {
  const { exports } = JSON.parse(readProjectFile('package.json')) as {
    readonly exports: Readonly<Record<string, { readonly types?: string }>>
  }
  const importable = Object.entries(exports).flatMap(([entry, { types }]) =>
    types?.startsWith('./dist/stores/') === true ? [entry.slice(2)] : [],
  )
  const listed = tableOf(stores, 'which-store', WHICH_HEADER).map(([name = '']) => /`(\w+)`/.exec(name)?.[1])
  expect(listed.toSorted()).toEqual([...importable, 'memory'].toSorted())
})

test('the promises of a 204 match what each store declares', () => {
  const promised = tableOf(stores, 'what-a-204-promises', PROMISE_HEADER).map(([store = '', crash = '']) => [
    store,
    crash,
  ])
  const postgres = postgresStore({ connectionString: 'postgres://unused' })
  const mysql = mysqlStore({ uri: 'mysql://unused' })
  const redis = redisStore({ client: createClient() })
  const said = [memoryStore(), sqliteStore('unused.db'), postgres, mysql, redis].map(
    ({ capabilities: { name, durable } }) => [`\`${name}\``, durable ? 'kept' : 'lost'],
  )
  expect(promised.slice(0, said.length)).toEqual(said)
})

test('the default duration of retries matches the table', () => {
  const { attempts, initialDelayMs, maxDelayMs } = resolveOptions({ credentials: { authKey: 'of the test' } }).retry
  let ceilings = 0
  for (let attempt = 1; attempt < attempts; attempt += 1)
    ceilings += Math.min(maxDelayMs, initialDelayMs * 2 ** (attempt - 1))
  const hours = ceilings / 3_600_000
  // “an hour and a half on average”
  expect(hours / 2).toBeCloseTo(1.5, 0)
  expect(hours).toBeGreaterThan(3)
  expect(hours).toBeLessThanOrEqual(3.25)
})

/** Files that other examples start: the parts of an example are in a folder of its name. */
const EXAMPLES = [...globSync('examples/*.ts', { cwd: ROOT }), ...globSync('examples/*/start.ts', { cwd: ROOT })]
const [, EXAMPLE_LIST = ''] = readProjectFile('docs/guides/getting-started.md').split('\n## Examples\n')
const COMMANDS = [...EXAMPLE_LIST.matchAll(/^- `([^`]+)`: /gm)].map(([, command = '']) => command)

test('lists exactly the existing examples', () => {
  const { scripts } = JSON.parse(readProjectFile('package.json')) as { scripts: Readonly<Record<string, string>> }
  const [, started = ''] = /node (examples\/\S+)$/.exec(scripts['start'] ?? '') ?? []
  const named = COMMANDS.map((command) => (command === 'npm start' ? started : command.split(' ')[2]))
  expect(named.toSorted()).toEqual(EXAMPLES.toSorted())
  for (const path of named) expect(existsSync(`${ROOT}${path ?? ''}`)).toBe(true)
})

test('with the Node.js that is installed with the packages, not the machine’s own', () => {
  for (const command of COMMANDS) expect(command).toMatch(/^(npm start$|npx node examples\/)/)
})
