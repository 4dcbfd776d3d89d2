/** Help, mistakes, and exit, for every command. */
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { COMMANDS } from '../../src/cli/commands.ts'
import { ENVIRONMENT } from '../../src/cli/command.ts'
import { runCli, startCli } from './cli.ts'

const NAMES = Object.keys(COMMANDS)

const helps = new Map<string, Awaited<ReturnType<typeof runCli>>>()

/** What a command prints by `--help`; each is asked once. */
async function helpOf(...command: readonly string[]): Promise<Awaited<ReturnType<typeof runCli>>> {
  const name = command.join(' ')
  const help = helps.get(name) ?? (await runCli([...command, '--help']))
  helps.set(name, help)
  return help
}

describe('help', { timeout: 120_000 }, () => {
  test('of the whole names every command', async () => {
    const { code, stdout, stderr } = await runCli(['--help'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    for (const [name, { what }] of Object.entries(COMMANDS)) expect(stdout).toMatch(new RegExp(`${name} +${what}`))
  })

  test.each(NAMES)('of %s, which takes secrets from files only', async (name) => {
    const { code, stdout, stderr } = await helpOf(name)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain(`Usage: messaging-webhooks ${name} `)
    expect(stdout).not.toMatch(/--(signing-secret|auth-key|secret|control-token) /)
  })

  test('every command that takes a store reads STORE_URL, and the reference names them', async () => {
    const withStore: string[] = []
    for (const name of NAMES) {
      const { stdout } = await helpOf(name)
      const [, subcommand] = /^ {2}(list|show) /m.exec(stdout) ?? []
      const args = subcommand === undefined ? [name] : [name, 'list']
      const help = subcommand === undefined ? stdout : (await helpOf(...args)).stdout
      if (!help.includes('--store <url>')) continue
      withStore.push(name)
      expect(help).toContain('STORE_URL')
      const more = name === 'forget' ? ['--message-id', 'm-1'] : []
      const { code, stderr } = await runCli([...args, ...more], { STORE_URL: 'sqlite:/no/such/inbox.db' })
      expect(code).not.toBe(0)
      expect(stderr).toMatch(/The SQLite file does not exist\.|Only Postgres and MySQL stores have migrations/)
    }
    const named = [...ENVIRONMENT.STORE_URL.matchAll(/`([a-z-]+)`/g)].map(([, name]) => name)
    expect(named.toSorted()).toEqual(withStore.toSorted())
  })

  test('by the command help, and of a command’s own command', async () => {
    expect(await runCli(['help', 'trigger'])).toEqual(await helpOf('trigger'))
    const { code, stdout } = await runCli(['dead-letters', 'replay', '--help'])
    expect(code).toBe(0)
    expect(stdout).toContain('--force')
  })

  test('is shown as a mistake when no command is given', async () => {
    const { code, stdout, stderr } = await runCli([])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain('Usage: messaging-webhooks')
  })

  test('the version is the package’s', async () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
    expect(await runCli(['--version'])).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' })
  })
})

test('a pipe has no colours unless they are forced', { timeout: 120_000 }, async () => {
  for (const env of [{ CI: 'true' }, { FORCE_COLOR: '1' }]) {
    const { stdout } = await runCli(['trigger', '--list'], env)
    expect(stdout.includes('\u001b[')).toBe('FORCE_COLOR' in env)
  }
})

test('a closed pipe ends the command without an error', { timeout: 120_000 }, async () => {
  const running = startCli(['trigger', '--list'])
  running.child.stdout?.destroy()
  const { code, stderr } = await running.ended
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
})
