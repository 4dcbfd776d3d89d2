/**
 * How long a fresh process takes until it has answered its first callback with 204, in Express with SQLite, beside an app that
 * verifies, inserts and answers by hand; and what importing the package costs beside Express and zod. `npm run bench:start`
 *
 *     ROUNDS (15) processes of each kind, alternating. Each restarts on the file of the one before.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { signCallback } from 'messaging-webhooks/testing'
import { processStat } from './database/proc-stat.ts'
import { AUTH_KEY, PATH, SIGNING_SECRET } from './load/secrets.ts'
import { ratioOf, spreadOf } from './measure/ratios.ts'
import { ratio } from './report/format.ts'
import { textOf } from './report/report.ts'

const ROUNDS = Number(process.env['ROUNDS'] ?? 15)

const packageFile = (path: string): string => JSON.stringify(join(import.meta.dirname, '../dist', path))
const installed = (name: string): string => JSON.stringify(import.meta.resolve(name))

const LISTEN = `const server = app.listen(0, '127.0.0.1', () => console.log(server.address().port))`

const BY_HAND = `
import { createHmac, timingSafeEqual } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import express from ${installed('express')}
import { z } from ${installed('zod')}
const schema = z.object({ project: z.string(), messageId: z.string(), status: z.string(), timestamp: z.int() })
const database = new DatabaseSync('reports.db')
database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
database.exec('CREATE TABLE IF NOT EXISTS reports (id TEXT PRIMARY KEY, body BLOB NOT NULL, done INTEGER NOT NULL DEFAULT 0)')
const insert = database.prepare('INSERT OR IGNORE INTO reports (id, body) VALUES (?, ?)')
const app = express()
app.post(${JSON.stringify(PATH)}, express.raw({ type: 'application/json' }), ({ body, headers }, response) => {
  const [, t, v1] = /^t=(\\d+),v1=([0-9a-f]{64})$/.exec(headers['x-service-signature']) ?? []
  const digest = createHmac('sha256', ${JSON.stringify(SIGNING_SECRET)}).update(t + '.').update(body).digest()
  if (!timingSafeEqual(digest, Buffer.from(v1, 'hex'))) return response.status(401).end()
  const { messageId, status, timestamp } = schema.parse(JSON.parse(body.toString()))
  insert.run(messageId + '/' + status + '/' + timestamp, body)
  response.status(204).end()
})
${LISTEN}
`

const RECEIVER = `
import express from ${installed('express')}
import { createReceiver } from ${packageFile('index.js')}
import { sqliteStore } from ${packageFile('stores/sqlite/store.js')}
const receiver = createReceiver({
  credentials: { authKey: ${JSON.stringify(AUTH_KEY)}, signingSecret: ${JSON.stringify(SIGNING_SECRET)} },
  store: sqliteStore('inbox.db'),
  logger: false,
})
receiver.on('message.*', () => {})
const app = express()
app.use(${JSON.stringify(PATH)}, receiver.middleware('status'))
${LISTEN}
await receiver.start()
`

const APPS = { 'by hand': BY_HAND, 'this receiver': RECEIVER }

const IMPORTS = {
  'Express and zod': `import ${installed('express')}; import ${installed('zod')}`,
  'the package': `import ${packageFile('index.js')}`,
  'the package and its SQLite store': `import ${packageFile('index.js')}; import ${packageFile('stores/sqlite/store.js')}`,
}

interface Start {
  readonly ms: number
  readonly cpuMs: number
}

let sent = 0

/** From the start of the process until its first answer. */
async function firstAnswer(folder: string): Promise<Start> {
  const startedAtMs = performance.now()
  const child = spawn(process.execPath, ['app.mjs'], { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] })
  const [port] = (await once(child.stdout, 'data')) as readonly unknown[]
  sent += 1
  const timestamp = Math.floor(Date.now() / 1_000)
  const report = { project: 'Shop', messageId: `m${sent}`, channel: 'sms', status: 'success', type: 'transactional' }
  const body = JSON.stringify({ ...report, timestamp, authKey: AUTH_KEY })
  const { status } = await fetch(`http://127.0.0.1:${String(port).trim()}${PATH}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-service-signature': signCallback(body, SIGNING_SECRET) },
    body,
  })
  const ms = performance.now() - startedAtMs
  const cpuMs = processStat(child.pid ?? NaN)?.cpuMs ?? NaN
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
  if (status !== 204) throw new Error(`The first callback was answered ${status}.`)
  return { ms, cpuMs }
}

/** Until the process has loaded the file and ended. */
async function imported(folder: string): Promise<Start> {
  const child = spawn(process.execPath, ['app.mjs'], { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] })
  const startedAtMs = performance.now()
  const [text] = (await once(child.stdout, 'data')) as readonly unknown[]
  const ms = performance.now() - startedAtMs
  await once(child, 'exit')
  return { ms, cpuMs: Number(text) }
}

const TELL_CPU = `
const { user, system } = process.cpuUsage()
console.log((user + system) / 1e3)
`

async function measure(
  root: string,
  what: string,
  programs: Readonly<Record<string, string>>,
  run: (folder: string) => Promise<Start>,
): Promise<void> {
  const all = Object.entries(programs).map(([name, code], index) => {
    const folder = join(root, `${what.length}-${index}`)
    mkdirSync(folder)
    writeFileSync(join(folder, 'app.mjs'), code)
    return { name, folder, starts: [] as Start[] }
  })
  // The first process reads every file from the disk, and creates its database; it does not count.
  for (const { folder } of all) await run(folder)
  for (let round = 0; round < ROUNDS; round += 1) for (const { folder, starts } of all) starts.push(await run(folder))
  const base = all[0]?.starts ?? []
  const of = (starts: readonly Start[], figure: 'ms' | 'cpuMs'): readonly number[] =>
    starts.map((start) => start[figure])
  const rows = all.map(({ name, starts }) => [
    name,
    ...(['ms', 'cpuMs'] as const).flatMap((figure) => [
      spreadOf(of(starts, figure)).median.toFixed(0),
      ratio(ratioOf(of(starts, figure), of(base, figure))),
    ]),
  ])
  const head = [what, 'ms', 'times the first', 'ms CPU', 'times the first']
  console.log(textOf({ title: what, notes: [`${ROUNDS} rounds.`], tables: [{ head, rows }], data: rows }))
}

const root = mkdtempSync(join(tmpdir(), 'first-answer-'))
try {
  await measure(root, 'from the start to the first 204, Express and SQLite', APPS, firstAnswer)
  const programs = Object.fromEntries(Object.entries(IMPORTS).map(([name, code]) => [name, `${code}\n${TELL_CPU}`]))
  await measure(root, 'an import', programs, imported)
} finally {
  rmSync(root, { recursive: true, force: true })
}
