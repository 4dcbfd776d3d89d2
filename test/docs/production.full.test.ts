/** The app of the production checklist, run with the grants of that page: first without its database, then with it. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { migratePostgres } from 'messaging-webhooks/postgres'
import { callback, signCallback } from 'messaging-webhooks/testing'
import pg from 'pg'
import { expect, onTestFinished, test, vi } from 'vitest'
import { readPage, ROOT } from '../../docs/markdown.ts'
import { describePostgres, POSTGRES_URL, rowsOf } from '../stores/postgres/schema.ts'
import { freePort } from '../support/free-port.ts'
import { startProgram } from '../support/program.ts'

const AUTH_KEY = 'key-of-the-test-app'
const SIGNING_SECRET = 'secret-of-the-test-app'
const { blocks } = readPage('docs/guides/production.md')

function blockWith(language: string, text: string): string {
  const block = blocks.find((one) => one.language === language && one.code.includes(text))
  if (block === undefined) throw new Error(`The page has no ${language} block with ${text}.`)
  return block.code
}

/** A database with the tables, and the address of a role with only the grants on the page. */
async function migratedDatabase(): Promise<string> {
  const name = `mw_production_${process.pid}`
  const owner = Object.assign(new URL(POSTGRES_URL), { pathname: `/${name}` }).href
  await rowsOf(`CREATE DATABASE ${name}`)
  await rowsOf(`CREATE ROLE ${name} LOGIN PASSWORD 'of-the-role'`)
  onTestFinished(async () => {
    await rowsOf(`DROP DATABASE ${name} WITH (FORCE)`)
    await rowsOf(`DROP ROLE ${name}`)
  })
  await migratePostgres({ connectionString: owner })
  const client = new pg.Client(owner)
  await client.connect()
  await client.query(blockWith('sql', 'GRANT').replaceAll(/\bapp\b/g, name))
  await client.end()
  return Object.assign(new URL(owner), { username: name, password: 'of-the-role' }).href
}

async function startApp(folder: string, databaseUrl: string) {
  const port = String(await freePort())
  const env = { AUTH_KEY, SIGNING_SECRET, DATABASE_URL: databaseUrl, SPOOL: join(folder, 'spool'), PORT: port }
  const { child, ended } = startProgram(process.execPath, ['app.ts'], { cwd: folder, env })
  onTestFinished(() => void child.kill('SIGKILL'))
  let printed = ''
  child.stdout?.on('data', (text: Buffer) => (printed += text.toString()))
  const url = `http://localhost:${port}`
  await vi.waitFor(() => fetch(`${url}/livez`), { timeout: 60_000, interval: 100 })
  return { child, ended, url, printed: () => printed }
}

async function post(url: string, messageId: string): Promise<number> {
  const body = JSON.stringify(callback.smsDelivery({ messageId }))
  const headers = { 'x-service-signature': signCallback(body, SIGNING_SECRET) }
  return (await fetch(`${url}/webhooks/status`, { method: 'POST', headers, body })).status
}

describePostgres('the app of the checklist', () => {
  test(
    'keeps a callback while its database is unavailable, and handles it afterwards',
    { timeout: 180_000 },
    async () => {
      const folder = await mkdtemp(join(ROOT, 'test/docs/production-'))
      onTestFinished(() => rm(folder, { recursive: true }))
      await writeFile(join(folder, 'app.ts'), blockWith('ts', '// app.ts'))
      const databaseUrl = await migratedDatabase()

      const early = await startApp(folder, `postgres://app@127.0.0.1:${await freePort()}/app`)
      expect(await post(early.url, 'm-1')).toBe(204)
      expect((await fetch(`${early.url}/readyz`)).status).toBe(200)
      early.child.kill('SIGTERM')
      expect(await early.ended).toMatchObject({ code: 0, stdout: '' })

      const app = await startApp(folder, databaseUrl)
      expect(await post(app.url, 'm-2')).toBe(204)
      await vi.waitFor(
        () => expect(app.printed().trim().split('\n').toSorted()).toEqual(['m-1 was delivered', 'm-2 was delivered']),
        { timeout: 30_000 },
      )
      expect(await (await fetch(`${app.url}/metrics`)).text()).toContain('messaging_webhooks_callbacks_total')
      app.child.kill('SIGTERM')
      expect(await app.ended).toMatchObject({ code: 0, stderr: '' })
    },
  )
})
