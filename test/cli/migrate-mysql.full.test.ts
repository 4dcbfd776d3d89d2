/** `migrate` on MySQL: it creates the tables, or prints the statements for them, and shows no password. */
import { mysqlMigrations } from 'messaging-webhooks/mysql'
import { createConnection } from 'mysql2/promise'
import { describe, expect, onTestFinished, test } from 'vitest'
import { EXIT_CODES } from '../../src/cli/command.ts'
import { describeMysql, freshPrefix, MYSQL_URL, rowsOf } from '../stores/mysql/database.ts'
import { runCli } from './cli.ts'
import { without } from './without-packages.ts'

const TIMEOUT = { timeout: 120_000 }
const STORE_URL = MYSQL_URL

async function tablesOf(prefix: string): Promise<readonly unknown[]> {
  const rows = await rowsOf(
    `SELECT table_name AS name FROM information_schema.tables WHERE table_name LIKE '${prefix}\\_%' ORDER BY table_name`,
  )
  return rows.map(({ name }) => String(name).slice(prefix.length + 1))
}

const TABLES = ['dead_letters', 'migrations', 'payloads', 'records', 'workers']

/** The URL of a new account with these privileges on the database. */
async function urlOfAccount(name: string, privileges: string): Promise<string> {
  await rowsOf(`CREATE USER ${name}@'%' IDENTIFIED BY 'of-the-account'`)
  onTestFinished(async () => {
    await rowsOf(`DROP USER ${name}@'%'`)
  })
  const url = new URL(MYSQL_URL)
  await rowsOf(`GRANT ${privileges} ON ${url.pathname.slice(1)}.* TO ${name}@'%'`)
  url.username = name
  url.password = 'of-the-account'
  return url.href
}

describeMysql('migrate on MySQL', () => {
  test('creates the tables once, and reports it', TIMEOUT, async () => {
    const prefix = freshPrefix()
    const args = ['migrate', '--prefix', prefix]
    const stdout = `The tables ${prefix}_… are at version 1. Applied migration 1.\n`
    expect(await runCli(args, { STORE_URL })).toEqual({ code: 0, stdout, stderr: '' })
    expect(await tablesOf(prefix)).toEqual(TABLES)
    const stderr = `The tables ${prefix}_… are up to date, at version 1.\n`
    expect(await runCli(args, { STORE_URL })).toEqual({ code: 0, stdout: '', stderr })
  })

  test('--print changes nothing, and its output creates the tables', TIMEOUT, async () => {
    const prefix = freshPrefix()
    const print = ['migrate', '--prefix', prefix, '--print']
    const printed = await runCli(print, { STORE_URL })
    expect(printed).toEqual({ code: 0, stdout: mysqlMigrations({ prefix }), stderr: '' })
    expect(await tablesOf(prefix)).toEqual([])
    const connection = await createConnection({ uri: MYSQL_URL, multipleStatements: true })
    await connection.query(printed.stdout)
    await connection.end()
    expect(await tablesOf(prefix)).toEqual(TABLES)
    expect(await runCli(print, { STORE_URL })).toMatchObject({ code: 0, stdout: '' })
  })

  test('reports that an account may not create tables, and prints the statements for another', TIMEOUT, async () => {
    const prefix = freshPrefix()
    const url = await urlOfAccount(`${prefix}_app`, 'SELECT, INSERT, UPDATE, DELETE')
    const { code, stdout, stderr } = await runCli(['migrate', '--prefix', prefix], { STORE_URL: url })
    expect({ code, stdout }).toEqual({ code: EXIT_CODES.failed.code, stdout: '' })
    expect(stderr).toContain('this role may not create them')
    expect(await tablesOf(prefix)).toEqual([])
    const printed = await runCli(['migrate', '--prefix', prefix, '--print'], { STORE_URL: url })
    expect(printed).toMatchObject({ code: 0, stdout: mysqlMigrations({ prefix }) })
  })

  test('leaves the tables of another application unchanged', TIMEOUT, async () => {
    const prefix = freshPrefix()
    await rowsOf(`CREATE TABLE \`${prefix}_payloads\` (theirs TEXT)`)
    const { code, stderr } = await runCli(['migrate', '--prefix', prefix], { STORE_URL })
    expect(code).toBe(EXIT_CODES.failed.code)
    expect(stderr).toContain(`has other tables of these names: ${prefix}_payloads`)
    expect(await tablesOf(prefix)).toEqual(['payloads'])
  })

  test('warns of a password in --store, and repeats none', TIMEOUT, async () => {
    const { code, stderr } = await runCli(['migrate', '--prefix', freshPrefix(), '--store', MYSQL_URL])
    expect(code).toBe(0)
    expect(stderr).toMatch(/^warning: the password in --store is visible/)
    expect(stderr).not.toContain(new URL(MYSQL_URL).password)
  })
})

describe('migrate on MySQL, without a server', TIMEOUT, () => {
  test('reports why a server does not answer, without the password', async () => {
    const { code, stdout, stderr } = await runCli(['migrate'], { STORE_URL: 'mysql://me:hidden@127.0.0.1:1/none' })
    expect({ code, stdout }).toEqual({ code: EXIT_CODES.failed.code, stdout: '' })
    expect(stderr).toMatch(/^error: Cannot use the store\. MySQL: .*ECONNREFUSED.*\n.+\n$/)
    expect(stderr).not.toContain('hidden')
  })

  test('without the package mysql2: one line, and what to install', async () => {
    const env = without('mysql2/promise')
    const { code, stdout, stderr } = await runCli(['migrate', '--store', 'mysql://127.0.0.1/none'], env)
    expect({ code, stdout }).toEqual({ code: EXIT_CODES.failed.code, stdout: '' })
    expect(stderr).toBe(
      'error: A MySQL store requires the package mysql2, which is not installed.\nInstall it: npm install mysql2\n',
    )
  })
})
