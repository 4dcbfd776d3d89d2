/**
 * Three instances of an app and one store: `npx node examples/cluster/start.ts postgres|redis [url]`, after `npm run build`.
 * The emulated service posts its callbacks to a load balancer, which passes each to any of them; half way one instance is
 * killed with `kill -9`.
 */
import { fork, type ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startBalancer } from './balancer.ts'
import { startService } from './service.ts'
import { isEngine, URLS } from './stores.ts'

const [engine, url] = process.argv.slice(2)
if (!isEngine(engine)) {
  console.error('Which store? npx node examples/cluster/start.ts postgres|redis [url]')
  console.error('To have both on this machine: docker compose -f examples/cluster/compose.yaml up --wait')
  process.exit(2)
}

const folder = mkdtempSync(join(tmpdir(), 'messaging-webhooks-cluster-'))
const SIGNING_SECRET = randomBytes(16).toString('hex')
const settings = {
  ENGINE: engine,
  URL: url ?? URLS[engine],
  NAME: `example_${randomBytes(4).toString('hex')}`,
  FOLDER: folder,
  SIGNING_SECRET,
}
writeFileSync(join(folder, 'handled.txt'), '')

interface Instance {
  readonly place: string
  readonly app: ChildProcess
  readonly url: string
}

async function startInstance(place: string): Promise<Instance> {
  const app = fork(join(import.meta.dirname, 'instance.ts'), { env: { ...process.env, ...settings, PLACE: place } })
  const started = await Promise.race([once(app, 'message'), once(app, 'exit').then(() => undefined)])
  if (started === undefined) {
    const where = url === undefined ? 'as compose.yaml starts it' : 'where the URL says'
    console.error(`An instance could not start; its error stands above. It looked for ${engine} ${where}.`)
    console.error(`To use another store: npx node examples/cluster/start.ts ${engine} <url>`)
    process.exit(1)
  }
  const [port] = started as [number]
  return { place, app, url: `http://127.0.0.1:${port}/` }
}

const instances = [await startInstance('1'), ...(await Promise.all([startInstance('2'), startInstance('3')]))]
console.log(`three instances on one ${engine === 'postgres' ? 'Postgres' : 'Redis'}, each with its own port and spool`)

const balancer = await startBalancer(() => instances.map((instance) => instance.url))
const service = await startService(balancer.url, SIGNING_SECRET)
const messages = Number(process.env['MESSAGES'] ?? 500)

await service.send(Math.ceil(messages / 2))
await service.untilAccepted(messages / 2)
const [victim] = instances.splice(1, 1)
victim?.app.kill('SIGKILL')
console.log('half way: kill -9 of instance 2; another takes its place')
const [replacement] = await Promise.all([startInstance('4'), service.send(Math.floor(messages / 2))])
instances.push(replacement)
await service.untilIdle()

const events = service.events()
const { sent, accepted } = service.report()
console.log(`${messages} messages sent, ${sent} callbacks of them to any instance`)
console.log(`answered 204: ${accepted} callbacks, ${events.size} distinct events`)

const handled = (): string[][] =>
  readFileSync(join(folder, 'handled.txt'), 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((line) => line.split(' '))
const missing = (): number => {
  const seen = new Set(handled().map(([, messageId, type]) => `${messageId} ${type}`))
  return [...events].filter((event) => !seen.has(event)).length
}
for (const untilMs = Date.now() + 120_000; missing() > 0 && Date.now() < untilMs;) await sleep(200)

const rows = handled()
for (const place of ['1', '2', '3', '4'])
  console.log(`  instance ${place} handled ${rows.filter(([by]) => by === place).length}`)
const LIFE = ['message.sent', 'message.delivered', 'message.read']
const furthest = new Map<string, number>()
const inTime = rows.filter(([, , , late]) => late === undefined)
const backwards = inTime.filter(([, messageId = '', type = '']) => {
  const before = furthest.get(messageId) ?? 0
  furthest.set(messageId, Math.max(before, LIFE.indexOf(type)))
  return LIFE.indexOf(type) < before
}).length
const again = rows.length - new Set(rows.map(([, messageId, type]) => `${messageId} ${type}`)).size
console.log(`missing: ${missing()}, out of order: ${backwards}`)
console.log(`dispatched as late, after the reorder wait had ended: ${rows.length - inTime.length}`)
console.log(`handled twice, because the kill interrupted their handler: ${again}`)
console.log(`the stored events are kept under ${settings.NAME}`)

await service.close()
balancer.close()
for (const { app } of instances) app.kill('SIGTERM')
await Promise.all(instances.map(({ app }) => once(app, 'exit')))
process.exitCode = missing() === 0 && backwards === 0 ? 0 : 1
