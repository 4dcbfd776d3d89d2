/** The guide's block that has two databases as one store, run on stores in memory: all reports of a message come to one of them. */
import { spawnSync } from 'node:child_process'
import ts from 'typescript'
import { expect, test } from 'vitest'
import { readPage, ROOT } from '../../docs/markdown.ts'

const BEFORE = `
import express from 'express'
import { memoryStore } from 'messaging-webhooks'
import { callback, signCallback } from 'messaging-webhooks/testing'
const app = express()
let delivered = 0
const markDelivered = async () => void (delivered += 1)
const stores = []
const madeStore = () => {
  const { capabilities, open } = memoryStore()
  const ids = []
  stores.push(ids)
  const opened = async (host) => {
    const store = await open(host)
    const seen = (events) => ids.push(...events.map(({ messageKey }) => messageKey))
    return {
      ...store,
      admit: (events, now) => (seen(events), store.admit(events, now)),
      admitAndClaim: (events, request) => (seen(events), store.admitAndClaim(events, request)),
    }
  }
  return { capabilities, open: opened }
}
`
const AFTER = `
const server = app.listen(0, '127.0.0.1')
await new Promise((resolve) => server.once('listening', resolve))
const statuses = new Set()
async function post(body) {
  const headers = { 'x-service-signature': signCallback(body, 'from your dashboard') }
  const url = 'http://127.0.0.1:' + server.address().port + '/webhooks/status'
  statuses.add((await fetch(url, { method: 'POST', headers, body })).status)
}
for (let index = 0; index < 20; index += 1) {
  for (const status of ['sent', 'delivered', 'read'])
    await post(JSON.stringify(callback.chatApp({ statuses: { message_id: 'chat-' + index, status } })))
  for (const timestamp of [1_700_000_000, 1_700_000_001])
    await post(JSON.stringify(callback.smsDelivery({ messageId: 'sms-' + index, timestamp })))
}
await post('no JSON')
await post('')
const drained = await receiver.drain()
console.log(JSON.stringify({ stores, statuses: [...statuses], drained, delivered }))
process.exit()
`

test('shares the messages out', { timeout: 60_000 }, () => {
  const { blocks } = readPage('docs/guides/deploying.md')
  const block = blocks.find(({ code }) => code.includes('shardedStore({'))?.code ?? ''
  const databases = /postgresStore\(\{ connectionString: '[^']+' \}\)/g
  expect(block.match(databases)).toHaveLength(2)
  const own = block.replace(databases, 'madeStore()').replace("spool: '/var/lib/app'", 'spool: false')
  const code = BEFORE + own + AFTER
  const { outputText } = ts.transpileModule(code, {
    compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2023 },
  })
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', outputText], {
    cwd: ROOT,
    encoding: 'utf8',
    timeout: 50_000,
  })
  expect(status, stderr).toBe(0)
  const shown = JSON.parse(stdout) as {
    readonly stores: readonly string[][]
    readonly statuses: readonly number[]
    readonly drained: boolean
    readonly delivered: number
  }
  expect([shown.drained, shown.delivered]).toEqual([true, 20 * 3])
  expect(shown.statuses).toEqual([204])
  const messages = shown.stores.map((keys) => new Set(keys))
  expect(messages).toHaveLength(2)
  for (const keys of messages) expect(keys.size).toBeGreaterThan(5)
  const [first = new Set(), second = new Set()] = messages
  expect([...first].filter((key) => second.has(key))).toEqual([])
  expect(shown.stores.flat()).toHaveLength(20 * 5 + 2)
  expect(first.size + second.size).toBe(20 * 2 + 2)
})
