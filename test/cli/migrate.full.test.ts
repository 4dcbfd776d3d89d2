/** `migrate` as a process: it creates the tables, or prints the statements for them, and shows no password. */
import { describe, expect, test } from 'vitest'
import { postgresMigrations } from 'messaging-webhooks/postgres'
import { describePostgres, freshSchema, onServer, POSTGRES_URL, rowsOf } from '../stores/postgres/schema.ts'
import { EXIT_CODES } from '../../src/cli/command.ts'
import { runCli } from './cli.ts'
import { without } from './without-packages.ts'

const TIMEOUT = { timeout: 120_000 }
const STORE_URL = POSTGRES_URL

/** The address of the tests' server with a password in it, which the server may ignore. */
function withPassword(password: string): string {
  const url = new URL(POSTGRES_URL)
  url.password = password
  return url.href
}

async function tablesIn(schema: string): Promise<readonly unknown[]> {
  const rows = await rowsOf(
    `SELECT table_name FROM information_schema.tables WHERE table_schema = '${schema}' ORDER BY table_name`,
  )
  return rows.map((row) => row['table_name'])
}

describePostgres('migrate', () => {
  test('creates the tables once, and reports it', TIMEOUT, async () => {
    const schema = freshSchema()
    const args = ['migrate', '--store', POSTGRES_URL, '--schema', schema]
    expect(await runCli(args)).toEqual({
      code: 0,
      stdout: `The schema ${schema} is at version 1. Applied migration 1.\n`,
      stderr: '',
    })
    expect(await tablesIn(schema)).toEqual([
      'dead_letters',
      'due',
      'messaging_webhooks_migrations',
      'payloads',
      'records',
      'workers',
    ])
    expect(await runCli(args)).toEqual({
      code: 0,
      stdout: '',
      stderr: `The schema ${schema} is up to date, at version 1.\n`,
    })
  })

  test(
    '--print prints the missing statements, changes nothing, and its output creates the tables',
    TIMEOUT,
    async () => {
      const schema = freshSchema()
      const print = ['migrate', '--schema', schema, '--print']
      const printed = await runCli(print, { STORE_URL })
      expect(printed).toEqual({ code: 0, stdout: postgresMigrations({ schema }), stderr: '' })
      expect(await tablesIn(schema)).toEqual([])
      await onServer((client) => client.query(printed.stdout))
      expect(await runCli(print, { STORE_URL })).toMatchObject({ code: 0, stdout: '' })
      expect((await runCli(['migrate', '--schema', schema], { STORE_URL })).stderr).toContain('is up to date')
    },
  )

  test('reports that a role may not create tables, and creates nothing', TIMEOUT, async () => {
    const schema = freshSchema()
    const role = `${schema}_role`
    await rowsOf(`CREATE ROLE "${role}" LOGIN`)
    try {
      const url = new URL(POSTGRES_URL)
      url.username = role
      const { code, stdout, stderr } = await runCli(['migrate', '--schema', schema], { STORE_URL: url.href })
      expect({ code, stdout }).toEqual({ code: EXIT_CODES.failed.code, stdout: '' })
      expect(stderr).toContain('this role may not create them')
      // It can still print the statements for a role that has the right.
      const printed = await runCli(['migrate', '--schema', schema, '--print'], { STORE_URL: url.href })
      expect(printed.stdout).toContain('CREATE TABLE')
    } finally {
      await rowsOf(`DROP OWNED BY "${role}"; DROP ROLE "${role}"`)
    }
  })

  test('leaves the tables of another application unchanged', TIMEOUT, async () => {
    const schema = freshSchema()
    await rowsOf(`CREATE SCHEMA "${schema}"; CREATE TABLE "${schema}".payloads (theirs text)`)
    const { code, stderr } = await runCli(['migrate', '--schema', schema], { STORE_URL })
    expect(code).toBe(EXIT_CODES.failed.code)
    expect(stderr).toContain('has other tables of these names: payloads')
    expect(await tablesIn(schema)).toEqual(['payloads'])
  })

  test(
    'a password in --store works, with a warning, and is not repeated; in STORE_URL it needs none',
    TIMEOUT,
    async () => {
      const args = ['migrate', '--schema', freshSchema()]
      const flag = await runCli([...args, '--store', withPassword('the-password')])
      expect(flag.code).toBe(0)
      expect(flag.stderr).toMatch(/^warning: the password in --store is visible/)
      const variable = await runCli(args, { STORE_URL: withPassword('the-password') })
      expect(variable).toMatchObject({ code: 0, stdout: '' })
      expect(variable.stderr).not.toContain('warning')
      expect(JSON.stringify([flag, variable])).not.toContain('the-password')
    },
  )
})

describe('migrate, without a server', TIMEOUT, () => {
  test('--print prints every statement without a store', async () => {
    expect(await runCli(['migrate', '--print'])).toEqual({ code: 0, stdout: postgresMigrations(), stderr: '' })
  })

  test('reports why a server does not answer, without the password', async () => {
    const { code, stdout, stderr } = await runCli(['migrate'], { STORE_URL: 'postgres://me:hidden@127.0.0.1:1/none' })
    expect({ code, stdout }).toEqual({ code: EXIT_CODES.failed.code, stdout: '' })
    expect(stderr).toMatch(/^error: Cannot use the store\. Postgres: .*ECONNREFUSED.*\n.+\n$/)
    expect(stderr).not.toContain('hidden')
  })

  test('without the package pg: one line, and what to install', async () => {
    const { code, stdout, stderr } = await runCli(['migrate', '--store', 'postgres://127.0.0.1/none'], without('pg'))
    expect({ code, stdout }).toEqual({ code: EXIT_CODES.failed.code, stdout: '' })
    expect(stderr).toBe(
      'error: A Postgres store requires the package pg, which is not installed.\n' + 'Install it: npm install pg\n',
    )
  })
})
