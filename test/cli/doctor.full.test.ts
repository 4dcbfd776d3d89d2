/** `doctor`: its findings, exit codes, and secrecy. */
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { EXIT_CODES } from '../../src/cli/command.ts'
import { receiving, serve } from '../support/receiving.ts'
import { KEYS, POLL, runCli, startCli } from './cli.ts'
import { ownFolder } from '../support/own-folder.ts'

/** An app without any problem. */
async function healthy(): Promise<string> {
  const { receiver, url } = await receiving({}, { kind: 'status' })
  receiver.onAny(() => {})
  return url
}

describe('as a process', { timeout: 120_000 }, () => {
  test('all is well', async () => {
    const url = await healthy()
    const { code, stdout, stderr } = await runCli(['doctor', url, '--kind', 'status'], KEYS)
    expect({ code, stderr }).toEqual({ code: EXIT_CODES.ok.code, stderr: '' })
    expect(stdout).toBe(
      [
        url,
        '✓ The receiver answered and has this pair. (receiver_answers)',
        '✓ Body and signature header arrive unchanged. (proof_intact)',
        'No problems found.',
        '',
      ].join('\n'),
    )
  })

  test('reports a problem and how to fix it', async () => {
    const url = await healthy()
    const { code, stdout, stderr } = await runCli(['doctor', url, '--kind', 'payment'], KEYS)
    expect({ code, stderr }).toEqual({ code: EXIT_CODES.unwell.code, stderr: '' })
    expect(stdout).toMatch(/^✗ Another kind .* `payment` was requested\. \(kind_differs\)$/m)
    expect(stdout).toMatch(/^ {2}→ Register the URL/m)
    expect(stdout).toMatch(/^1 problem, 0 warnings\.$/m)
  })

  test('names the seconds by which the clock is wrong', async () => {
    const { url } = await receiving({ clock: () => Date.now() - 900_000 }, { kind: 'status' })
    const { code, stdout } = await runCli(['doctor', url, '--kind', 'status'], KEYS)
    expect(code).toBe(EXIT_CODES.unwell.code)
    expect(stdout).toMatch(/^✗ .* is (89\d|90\d) s behind this machine’s\. \(clock_off\)$/m)
  })

  test('as JSON, with a wrong pair from files; a user and a password in the URL are not shown', async () => {
    const url = await healthy()
    const folder = ownFolder()
    writeFileSync(join(folder, 'secret'), 'another-signing-secret\n')
    writeFileSync(join(folder, 'key'), 'another-auth-key\n')
    const files = ['--signing-secret-file', join(folder, 'secret'), '--auth-key-file', join(folder, 'key')]
    const withUser = url.replace('http://', 'http://someone:password-of-the-url@')
    const { code, stdout, stderr } = await runCli(['doctor', withUser, ...files, '--json'])
    expect({ code, stderr }).toEqual({ code: EXIT_CODES.unwell.code, stderr: '' })
    expect(JSON.parse(stdout)).toMatchObject({ ok: false, url, findings: [{ code: 'pair_wrong' }] })
    for (const secret of ['another-signing-secret', 'another-auth-key', 'password-of-the-url'])
      expect(stdout).not.toContain(secret)
  })

  test('Ctrl+C ends it at once while no answer comes', async () => {
    let asked = 0
    const url = await serve(() => (asked += 1))
    const { child } = startCli(['doctor', url, '--timeout', '600000'], KEYS)
    await expect.poll(() => asked, POLL).toBe(1)
    const exited = once(child, 'exit')
    child.kill('SIGINT')
    expect(await exited).toEqual([null, 'SIGINT'])
  })
})
