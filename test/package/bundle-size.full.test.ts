/** What an application carries with it that is deployed as one file: the receiver and the Fetch entry, with all they import. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, onTestFinished, test } from 'vitest'
import { appFolder, removeFolder } from '../http/adapters/app-process.ts'
import { bundle } from '../http/adapters/bundled.ts'

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
  // Measured: 371,522 bytes, with the doctor, which bundlers leave in a second file where they may.
  expect(bytes.length).toBeLessThan(373_000)
  expect(gzipSync(bytes).length).toBeLessThan(126_500)
})

test('OpenTelemetry by itself brings no receiver', async () => {
  const bytes = await bundled("export { openTelemetry } from 'messaging-webhooks/otel'\n", ['@opentelemetry/api'])
  // Measured: 93,718 bytes, most of which check options and are OpenTelemetry's own API.
  expect(bytes.length).toBeLessThan(110_000)
  expect(bytes.includes('createSecretKey')).toBe(false)
})

test('the client by itself brings no receiver, and nothing of Node', async () => {
  const bytes = await bundled("export { createClient } from 'messaging-webhooks/client'\n")
  // Measured: 135,139 bytes, most of which check options and are texts of errors; writing sends down and sending again are part of it.
  expect(bytes.length).toBeLessThan(137_000)
  expect(bytes.includes('createSecretKey')).toBe(false)
  expect(bytes.toString()).not.toMatch(/from\s*["'](node:|[a-z])/)
})

test('the Fetch entry by itself brings no receiver', async () => {
  const bytes = await bundled("export { receiverHandler } from 'messaging-webhooks/fetch'\n")
  // Measured: 79,973 bytes, most of which check what is said of the URL.
  expect(bytes.length).toBeLessThan(100_000)
  expect(bytes.includes('createSecretKey')).toBe(false)
})
