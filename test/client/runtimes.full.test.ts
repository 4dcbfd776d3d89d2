/** The client on every runtime, from the built package, without any module of Node; each send goes out once. */
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { API_KEY, emulating } from '../emulator/emulating.ts'
import { appFolder, binary, removeFolder, startApp } from '../http/adapters/app-process.ts'
import { bundle } from '../http/adapters/bundled.ts'
import { runProgram } from '../support/program.ts'
import { freePort } from '../support/free-port.ts'
import { titleWith } from '../support/skipping.ts'
import { onTheWire } from './answering.ts'

const EXPECTED = {
  send: ['partial', 1],
  otp: 'transactional',
  wrong: 'unknown_project 1',
  reset: 'unknown_outcome 1',
  closed: 'not_sent 2',
  timeout: 'unknown_outcome 1',
  all: ['accepted', 'repeated', 'refused'],
  recorded: ['pending order 7', 'sent 1', 'order 7'],
}

/** The addresses for the sends of a run, and the number of requests to the one that resets. */
async function places() {
  const { endpoint, emulator } = await emulating()
  const { url: resetting, seen } = await onTheWire((socket, head) => {
    if (!head.includes('/silent')) socket.resetAndDestroy()
  })
  const closed = `http://127.0.0.1:${await freePort()}/`
  return { URLS: JSON.stringify({ service: endpoint, resetting, closed, apiKey: API_KEY }), seen, emulator }
}

/** The request that is reset, and the one without an answer. */
const ONCE_EACH = 2

/** Of the send, the password, the wrong key, the list of three and the recorded one. */
const TO_THE_SERVICE = 6

const PROGRAMS: readonly (readonly [name: string, program: string | undefined, args: readonly string[]])[] = [
  ['Node', process.execPath, []],
  ['Bun', binary('@oven/bun-*/bin/bun'), []],
  ['Deno', binary('@deno/*/deno'), ['run', '--allow-all', '--no-remote', '--node-modules-dir=manual']],
]

const folder = appFolder('any')
cpSync(join(import.meta.dirname, 'programs'), folder, { recursive: true })
afterAll(() => removeFolder(folder))

for (const [name, program, args] of PROGRAMS) {
  const missing =
    program === undefined ? `the package of ${name} is not installed, or has no program for this machine` : undefined
  if (missing !== undefined && process.env['CI'] === 'true') throw new Error(missing)

  test.skipIf(missing !== undefined)(titleWith(missing, name), async () => {
    const { URLS, seen, emulator } = await places()
    const env = { URLS, DENO_NO_UPDATE_CHECK: '1', VITEST: undefined }
    const { stdout, stderr } = await runProgram(program ?? '', [...args, 'main.mjs'], { cwd: folder, env })
    expect(stderr).toBe('')
    expect(JSON.parse(stdout)).toEqual(EXPECTED)
    expect([seen.requests, emulator.report().sends.requests]).toEqual([ONCE_EACH, TO_THE_SERVICE])
  })
}

const workerd = binary('@cloudflare/workerd-*/bin/workerd')
const missing =
  workerd === undefined ? 'the package `workerd` is not installed, or has no program for this machine' : undefined
if (missing !== undefined && process.env['CI'] === 'true') throw new Error(missing)

describe.skipIf(missing !== undefined)(titleWith(missing, 'Cloudflare Workers'), () => {
  test('without the flag that adds Node’s modules', async () => {
    await bundle(folder, 'worker.mjs', 'worker.mjs')
    const { URLS, seen, emulator } = await places()
    const args = ['serve', '--control-fd=1', 'config.capnp']
    const app = { command: workerd ?? '', args, cwd: folder, env: { URLS }, says: /"port":(\d+)/ }
    const { url, close } = await startApp(app, undefined, '/')
    const report: unknown = await fetch(url)
      .then((answer) => answer.json())
      .finally(close)
    // workerd does not distinguish a refused connection from a broken one.
    expect(report).toEqual({ ...EXPECTED, closed: 'unknown_outcome 1' })
    expect([seen.requests, emulator.report().sends.requests]).toEqual([ONCE_EACH, TO_THE_SERVICE])
  })
})
