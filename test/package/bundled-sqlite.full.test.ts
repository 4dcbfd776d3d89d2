/** An app bundled into one file, including the SQLite store. Needs `npm run build`. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { appFolder, removeFolder } from '../http/adapters/app-process.ts'
import { bundle } from '../http/adapters/bundled.ts'
import { runProgram } from '../support/program.ts'

const APP = `
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
  writeFileSync(join(folder, 'entry.mjs'), APP)
  const file = await bundle(folder, 'entry.mjs', 'app.mjs')
  const { code, stdout } = await runProgram(process.execPath, [file, join(folder, 'inbox.db')])
  expect(stdout).toMatch(/^store_bundled: .*serverExternalPackages/)
  expect(code).toBe(0)
  const plain = await runProgram(process.execPath, [join(folder, 'entry.mjs'), join(folder, 'inbox.db')])
  expect(plain.stdout).toBe('started\n')
})
