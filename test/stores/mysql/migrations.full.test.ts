/** Migrations create the tables once, whichever process is first, and leave foreign tables untouched. */
import { migrateMysql, mysqlMigrations, mysqlStore, pendingMysqlMigrations } from 'messaging-webhooks/mysql'
import { expect, test } from 'vitest'
import { admit, claim, eventOf, hostOf, namesOf, opened } from '../postgres/events.ts'
import { describeMysql, freshPrefix, MYSQL_URL, rowsOf } from './database.ts'

const TIMEOUT = { timeout: 60_000 }
const HOST = hostOf({ claims: false })

async function columnsOf(prefix: string): Promise<readonly string[]> {
  const rows =
    await rowsOf(`SELECT table_name AS t, column_name AS c, column_type AS type FROM information_schema.columns
WHERE table_schema = DATABASE() AND table_name LIKE '${prefix}\\_%' ORDER BY 1, 2`)
  return rows.map(({ t, c, type }) => `${String(t).slice(prefix.length)} ${String(c)} ${String(type)}`)
}

/** The statements as an operator applies them, one after the other. */
async function apply(sql: string, most = Infinity): Promise<void> {
  for (const statement of sql.split(/;\n+/).slice(0, most)) if (statement !== '') await rowsOf(statement)
}

describeMysql('migrations', () => {
  test('ten stores that open at once create the tables once', TIMEOUT, async () => {
    const prefix = freshPrefix()
    const store = mysqlStore({ uri: MYSQL_URL, prefix, maxConnections: 2 })
    const stores = await Promise.all(Array.from({ length: 10 }, async () => store.open(HOST)))
    expect(await rowsOf(`SELECT version FROM \`${prefix}_migrations\``)).toEqual([{ version: '1' }])
    const admissions = await Promise.all(stores.map(async (open) => admit(open, [eventOf('m')])))
    expect(admissions.flat().toSorted()).toEqual([...Array.from({ length: 9 }, () => 'duplicate'), 'new'])
    await Promise.all(stores.map(async (open) => open.close()))
  })

  test('completes tables that a crash left incomplete', TIMEOUT, async () => {
    const [whole, prefix] = [freshPrefix(), freshPrefix()]
    await apply(mysqlMigrations({ prefix: whole }))
    await apply(mysqlMigrations({ prefix }), 3)
    expect(await migrateMysql({ uri: MYSQL_URL, prefix })).toEqual({ from: 0, to: 1 })
    expect(await columnsOf(prefix)).toEqual(await columnsOf(whole))
  })

  test('the printed migrations create the same tables, and change nothing when applied twice', TIMEOUT, async () => {
    const [printed, applied] = [freshPrefix(), freshPrefix()]
    await apply(mysqlMigrations({ prefix: printed }))
    await apply(mysqlMigrations({ prefix: printed }))
    await migrateMysql({ uri: MYSQL_URL, prefix: applied })
    expect(await columnsOf(printed)).toEqual(await columnsOf(applied))
    expect(await migrateMysql({ uri: MYSQL_URL, prefix: printed })).toEqual({ from: 1, to: 1 })
    expect(await pendingMysqlMigrations({ uri: MYSQL_URL, prefix: freshPrefix() })).toEqual({ from: 0, to: 1 })
  })

  test('opens tables that were restored without rows, as by mysqldump --no-data', TIMEOUT, async () => {
    const prefix = freshPrefix()
    await migrateMysql({ uri: MYSQL_URL, prefix })
    await rowsOf(`DELETE FROM \`${prefix}_migrations\``)
    const open = await opened(mysqlStore({ uri: MYSQL_URL, prefix }))
    expect(await admit(open, [eventOf('m')])).toEqual(['new'])
    expect(namesOf(await claim(open))).toEqual(['m'])
  })

  test('refuses tables in an engine without transactions, with the statements that repair them', TIMEOUT, async () => {
    const prefix = freshPrefix()
    const open = async () => mysqlStore({ uri: MYSQL_URL, prefix }).open(HOST)
    await (await open()).close()
    await rowsOf(`ALTER TABLE \`${prefix}_payloads\` ENGINE = MyISAM`)
    const repair = `ALTER TABLE \`${prefix}_payloads\` ENGINE = InnoDB;`
    const refused = {
      code: 'store_unusable_engine',
      message: expect.stringContaining(`MyISAM. Run: ${repair}`) as string,
    }
    await expect(open()).rejects.toMatchObject(refused)
    await rowsOf(repair)
    await (await open()).close()
  })

  test('refuses a server that enforces such an engine for new tables', TIMEOUT, async () => {
    const prefix = freshPrefix()
    await rowsOf("SET GLOBAL enforce_storage_engine = 'MyISAM'")
    await rowsOf("SET GLOBAL sql_mode = REPLACE(@@GLOBAL.sql_mode, 'NO_ENGINE_SUBSTITUTION', '')")
    try {
      const opening = Promise.resolve(mysqlStore({ uri: MYSQL_URL, prefix }).open(HOST))
      await expect(opening).rejects.toMatchObject({ code: 'store_unusable_engine' })
    } finally {
      await rowsOf('SET GLOBAL enforce_storage_engine = NULL')
    }
  })

  test.each([
    ['store_foreign', '_payloads', (prefix: string) => [`CREATE TABLE \`${prefix}_payloads\` (theirs TEXT)`]],
    [
      'store_newer',
      'version 1000',
      (prefix: string) => [
        ...mysqlMigrations({ prefix }).split(/;\n+/).slice(0, -1),
        `INSERT INTO \`${prefix}_migrations\` (version) VALUES (1000)`,
      ],
    ],
  ])('refuses with %s, and leaves the tables as they are', TIMEOUT, async (code, says, statements) => {
    const prefix = freshPrefix()
    for (const statement of statements(prefix)) await rowsOf(statement)
    const before = await columnsOf(prefix)
    const refused = { code, message: expect.stringContaining(says) as string }
    const opening = Promise.resolve(mysqlStore({ uri: MYSQL_URL, prefix }).open(HOST))
    await expect(opening).rejects.toMatchObject(refused)
    await expect(migrateMysql({ uri: MYSQL_URL, prefix })).rejects.toMatchObject(refused)
    expect(await columnsOf(prefix)).toEqual(before)
  })
})
