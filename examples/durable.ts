/** Nothing is lost: an app on an SQLite file is fed, killed with `kill -9` and started again, `KILLS` times. */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createReceiver } from 'messaging-webhooks'
import { sqliteStore } from 'messaging-webhooks/sqlite'
import { callback } from 'messaging-webhooks/testing'

const authKey = 'key-of-the-shop'
const [folder] = process.argv.slice(2)
if (folder === undefined) await feedAndKill(mkdtempSync(join(tmpdir(), 'messaging-webhooks-durable-')))
else await runApp(folder)

/** The app, which does not know what is going to happen to it. */
async function runApp(folder: string): Promise<void> {
  const store = sqliteStore(join(folder, 'inbox.db'))
  const receiver = createReceiver({
    credentials: { authKey, signingSecret: 'secret-of-the-shop' },
    store,
    handlerTimeoutMs: 1_000,
  })
  receiver.on('message.delivered', async ({ messageId }) => {
    await sleep(5) // its work
    appendFileSync(join(folder, 'handled.txt'), `${messageId}\n`)
  })
  const server = createServer(receiver.middleware('status'))
  receiver.closeOnSignal(['SIGTERM', 'SIGINT'], server)
  server.keepAliveTimeout = 75_000
  server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
  await receiver.start()
}

/** The service, which records the callbacks answered 204 and sends none twice, and the kills. */
async function feedAndKill(folder: string): Promise<void> {
  const answered = new Set<string>()
  let sent = 0
  writeFileSync(join(folder, 'handled.txt'), '')
  const handled = (): string[] => readFileSync(join(folder, 'handled.txt'), 'utf8').split('\n').slice(0, -1)

  async function sendUntilRefused(url: string): Promise<void> {
    for (;;) {
      const messageId = `m-${(sent += 1)}`
      const body = JSON.stringify(callback.smsDelivery({ authKey, messageId }))
      const answer = await fetch(url, { method: 'POST', body }).catch(() => undefined)
      if (answer === undefined) return
      if (answer.status === 204) answered.add(messageId)
    }
  }

  for (let kills = Number(process.env['KILLS'] ?? 5); kills > 0; kills -= 1) {
    const { app, url } = await startApp(folder)
    const before = answered.size
    const senders = Array.from({ length: 8 }, () => sendUntilRefused(url))
    while (answered.size === before) await sleep(10)
    await sleep(300 + Math.random() * 700)
    app.kill('SIGKILL')
    await Promise.all([...senders, once(app, 'exit')])
    console.log(`kill -9 of process ${app.pid}, after ${answered.size - before} callbacks were answered 204`)
  }
  const { app } = await startApp(folder)
  const missing = (): number => {
    const seen = new Set(handled())
    return [...answered].filter((messageId) => !seen.has(messageId)).length
  }
  for (const untilMs = Date.now() + 60_000; missing() > 0 && Date.now() < untilMs;) await sleep(100)
  app.kill('SIGTERM')
  const [code] = (await once(app, 'exit')) as [number]
  console.log(`SIGTERM: the last process finished its work and exited with ${code}`)
  const unique = new Set(handled()).size
  console.log(`answered 204: ${answered.size}, dispatched: ${unique}, missing: ${missing()}`)
  console.log(`dispatched although the process was killed before answering 204: ${unique - answered.size + missing()}`)
  console.log(`run twice, because the kill interrupted their handler: ${handled().length - unique}`)
  console.log(`the inbox is still there: npx node dist/cli/main.js events list --store ${join(folder, 'inbox.db')}`)
  process.exitCode = missing() === 0 ? 0 : 1
}

async function startApp(folder: string): Promise<{ readonly app: ChildProcess; readonly url: string }> {
  const app = fork(import.meta.filename, [folder])
  const [port] = (await once(app, 'message')) as [number]
  return { app, url: `http://127.0.0.1:${port}/` }
}
