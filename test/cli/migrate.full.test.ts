/** `migrate` as a process: it creates the tables, or prints the statements for them, and shows no password. */
import { postgresMigrations } from 'messaging-webhooks/postgres'
import { expect, test } from 'vitest'
import { EXIT_CODES } from '../../src/cli/command.ts'
import { runCli } from './cli.ts'
import { SQL_ENGINES } from './sql-engines.ts'

const TIMEOUT = { timeout: 120_000 }

for (const [title, { describeEngine, url, flag, fresh, subject, tables, tablesOf, sql, ...engine }] of Object.entries(
  SQL_ENGINES,
))
  describeEngine(`migrate on ${title}`, () => {
    test('creates the tables once, and reports it', TIMEOUT, async () => {
      const name = fresh()
      const migrate = () => runCli(['migrate', flag, name], { STORE_URL: url })
      const stdout = `${subject(name)} at version 1. Applied migration 1.\n`
      expect(await migrate()).toEqual({ code: 0, stdout, stderr: '' })
      expect(await tablesOf(name)).toEqual(tables)
      const stderr = `${subject(name)} up to date, at version 1.\n`
      expect(await migrate()).toEqual({ code: 0, stdout: '', stderr })
    })

    test('--print changes nothing, and its output creates the tables', TIMEOUT, async () => {
      const name = fresh()
      const print = () => runCli(['migrate', flag, name, '--print'], { STORE_URL: url })
      expect(await print()).toEqual({ code: 0, stdout: sql(name), stderr: '' })
      expect(await tablesOf(name)).toEqual([])
      await engine.run(sql(name))
      expect(await tablesOf(name)).toEqual(tables)
      expect(await print()).toMatchObject({ code: 0, stdout: '' })
    })

    test('reports that an account may not create tables, and prints the statements for another', TIMEOUT, async () => {
      const name = fresh()
      const env = { STORE_URL: await engine.restrictedUrl(name) }
      const { code, stdout, stderr } = await runCli(['migrate', flag, name], env)
      expect({ code, stdout }).toEqual({ code: EXIT_CODES.failed.code, stdout: '' })
      expect(stderr).toContain('this role may not create them')
      expect(await tablesOf(name)).toEqual([])
      expect(await runCli(['migrate', flag, name, '--print'], env)).toMatchObject({ code: 0, stdout: sql(name) })
    })

    test('leaves the tables of another application unchanged', TIMEOUT, async () => {
      const name = fresh()
      await engine.addForeignTable(name)
      const { code, stderr } = await runCli(['migrate', flag, name], { STORE_URL: url })
      expect(code).toBe(EXIT_CODES.failed.code)
      expect(stderr).toMatch(/has other tables of these names: (\w+_)?payloads/)
      expect(await tablesOf(name)).toEqual(['payloads'])
    })

    test('warns of a password in --store, but not in STORE_URL, and repeats none', TIMEOUT, async () => {
      const withPassword = new URL(url)
      // A server without passwords ignores it.
      withPassword.password ||= 'the-password'
      const args = ['migrate', flag, fresh()]
      const byFlag = await runCli([...args, '--store', withPassword.href])
      expect(byFlag.code).toBe(0)
      expect(byFlag.stderr).toMatch(/^warning: the password in --store is visible/)
      const byVariable = await runCli(args, { STORE_URL: withPassword.href })
      expect(byVariable).toMatchObject({ code: 0, stdout: '' })
      expect(byVariable.stderr).not.toContain('warning')
      expect(JSON.stringify([byFlag, byVariable])).not.toContain(withPassword.password)
    })
  })

test('--print without a store prints every statement of Postgres', TIMEOUT, async () => {
  expect(await runCli(['migrate', '--print'])).toEqual({ code: 0, stdout: postgresMigrations(), stderr: '' })
})
