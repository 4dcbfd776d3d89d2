/** The cluster example, on the test's own servers: every event is handled although an instance is killed. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { URLS } from '../../examples/cluster/stores.ts'
import { POSTGRES, REDIS } from '../support/servers/engines.ts'
import { runProgram } from '../support/program.ts'
import { titleWith } from '../support/skipping.ts'

const TIMEOUT = { timeout: 300_000 }
const START = 'examples/cluster/start.ts'

/** For the example's files. */
function newFolder(onFinished: (work: () => void) => void): string {
  const folder = mkdtempSync(join(tmpdir(), 'e-'))
  onFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

for (const engine of [POSTGRES, REDIS]) {
  const missing = process.env['CI'] === 'true' ? undefined : engine.missing()
  test
    .skipIf(missing !== undefined)
    .concurrent(
      titleWith(missing, `cluster: three instances on one ${engine.name} lose nothing when one is killed`),
      TIMEOUT,
      async ({ onTestFinished }) => {
        const server = await engine.start()
        onTestFinished(server.remove)
        const args = [START, engine.name, server.spec('e').url]
        const env = { TMPDIR: newFolder(onTestFinished), MESSAGES: '60' }
        const { code, stdout, stderr } = await runProgram(process.execPath, args, { env })
        expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
        expect(stdout).toContain('kill -9 of instance 2')
        // Three reports of each message, and some of them twice: more callbacks than events, and all accepted.
        const [, sent] = /60 messages sent, (\d+) callbacks/.exec(stdout) ?? []
        expect(Number(sent)).toBeGreaterThan(180)
        expect(stdout).toContain(`answered 204: ${sent} callbacks, 180 distinct events`)
        expect(stdout).toContain('missing: 0, out of order: 0')
      },
    )
}

test(
  'cluster: without a store, or with one that does not answer, says what to do',
  TIMEOUT,
  async ({ onTestFinished }) => {
    const none = await runProgram(process.execPath, [START])
    expect(none.code).toBe(2)
    expect(none.stderr).toContain('compose')
    const url = 'postgres://u:the-password@127.0.0.1:1/none'
    const env = { TMPDIR: newFolder(onTestFinished) }
    const away = await runProgram(process.execPath, [START, 'postgres', url], { env })
    expect(away.code).toBe(1)
    expect(away.stderr).toContain('It looked for postgres where the URL says.')
    expect(away.stdout + away.stderr).not.toContain('the-password')
  },
)

test('compose.yaml starts what the example connects to by default', () => {
  const compose = readFileSync('examples/cluster/compose.yaml', 'utf8')
  for (const [name, url] of Object.entries(URLS)) {
    const { password, port } = new URL(url)
    expect(compose).toContain(`127.0.0.1:${port}:${port}`)
    expect(compose).toMatch(name === 'redis' ? `--requirepass ${password} ` : `POSTGRES_PASSWORD: ${password}\n`)
  }
})
