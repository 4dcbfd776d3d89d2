/** Applications deployed as one file: their size, and the SQLite store in one. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, onTestFinished, test } from 'vitest'
import { appFolder, removeFolder } from '../http/adapters/app-process.ts'
import { readProjectFile } from '../../docs/markdown.ts'
import { bundle } from '../http/adapters/bundled.ts'
import { runProgram } from '../support/program.ts'

const APP = `import { createReceiver } from 'messaging-webhooks'
import { receiverHandler } from 'messaging-webhooks/fetch'
export default { fetch: receiverHandler(createReceiver({ credentials: { authKey: 'of the dashboard' } }), 'status') }
`

async function bundled(entry: string, packages: readonly string[] = []): Promise<Buffer> {
  const folder = appFolder('any', packages)
  onTestFinished(() => removeFolder(folder))
  writeFileSync(join(folder, 'main.mjs'), entry)
  return readFileSync(await bundle(folder, 'main.mjs', 'bundle.mjs', true))
}

test('an app of the root and the Fetch entry is at most as large as its page says', async () => {
  const bytes = await bundled(APP)
  const page = readProjectFile('docs/decisions.md')
  const [, plain, compressed] =
    /less than (\d+) KB bundled and minified, and less than (\d+) KB compressed/.exec(page) ?? []
  // With the doctor, which bundlers put in a second file if allowed.
  expect(bytes.length).toBeLessThan(Number(plain) * 1_024)
  expect(gzipSync(bytes).length).toBeLessThan(Number(compressed) * 1_024)
})

test('the OpenTelemetry entry does not include the receiver', async () => {
  const bytes = await bundled("export { openTelemetry } from 'messaging-webhooks/otel'\n", ['@opentelemetry/api'])
  // Measured: 145,825 bytes, mostly checks of options and OpenTelemetry's own API.
  expect(bytes.length).toBeLessThan(110_000)
  expect(bytes.includes('createSecretKey')).toBe(false)
})

test('the client includes neither the receiver nor any module of Node', async () => {
  const bytes = await bundled("export { createClient } from 'messaging-webhooks/client'\n")
  // Measured: 136,282 bytes, mostly checks of options and error texts; includes recording sends and re-sending.
  expect(bytes.length).toBeLessThan(137_000)
  expect(bytes.includes('createSecretKey')).toBe(false)
  expect(bytes.toString()).not.toMatch(/from\s*["'](node:|[a-z])/)
})

test('the Fetch entry does not include the receiver', async () => {
  const bytes = await bundled("export { receiverHandler } from 'messaging-webhooks/fetch'\n")
  // Measured: 86,196 bytes, mostly checks of the URL's options.
  expect(bytes.length).toBeLessThan(100_000)
  expect(bytes.includes('createSecretKey')).toBe(false)
})

const SQLITE_APP = `
import { createReceiver } from 'messaging-webhooks'
import { sqliteStore } from 'messaging-webhooks/sqlite'
const store = sqliteStore(process.argv[2])
const receiver = createReceiver({ credentials: { authKey: 'a-key-of-the-app' }, store, logger: false })
try {
  await receiver.start()
  console.log('started')
} catch (error) {
  console.log(error.code + ': ' + error.message)
}
await receiver.close()
`

test('names the setting that keeps the package out of the bundle', { timeout: 120_000 }, async () => {
  const folder = appFolder('any')
  onTestFinished(() => removeFolder(folder))
  writeFileSync(join(folder, 'entry.mjs'), SQLITE_APP)
  const file = await bundle(folder, 'entry.mjs', 'app.mjs')
  const { code, stdout } = await runProgram(process.execPath, [file, join(folder, 'inbox.db')])
  expect(stdout).toMatch(/^store_bundled: .*serverExternalPackages/)
  expect(code).toBe(0)
  const plain = await runProgram(process.execPath, [join(folder, 'entry.mjs'), join(folder, 'inbox.db')])
  expect(plain.stdout).toBe('started\n')
})
