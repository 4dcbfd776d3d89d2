/** The app of the production checklist, as the page has it, on a database of its own. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { migratePostgres } from 'messaging-webhooks/postgres'
import { callback, signCallback, type SmsDeliveryFields } from 'messaging-webhooks/testing'
import pg from 'pg'
import { onTestFinished, vi } from 'vitest'
import { readPage, ROOT } from '../../docs/markdown.ts'
import { POSTGRES_URL, rowsOf } from '../stores/postgres/schema.ts'
import { startProgram } from '../support/program.ts'

export const CREDENTIALS = { AUTH_KEY: 'key-of-the-test-app-1', SIGNING_SECRET: 'secret-of-the-test-app-is-long' }

/** The code of the page's only block in `language` that contains `text`. */
export function blockOf(page: string, language: string, text = ''): string {
  const found = readPage(page).blocks.filter((one) => one.language === language && one.code.includes(text))
  const [block] = found
  if (block === undefined || found.length > 1)
    throw new Error(`${page} has ${found.length} ${language} blocks with ${text}.`)
  return block.code
}

/** A folder with the app in it. */
export async function appFolder(): Promise<string> {
  const folder = await mkdtemp(join(ROOT, 'test/docs/production-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  await writeFile(join(folder, 'app.ts'), blockOf('docs/guides/production.md', 'ts', '// app.ts'))
  return folder
}

/** A database with the tables, and the address of a role with only the grants of the guide to Postgres. */
export async function migratedDatabase(name: string): Promise<string> {
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
  await client.query(blockOf('docs/guides/store-postgres.md', 'sql', 'GRANT').replaceAll(/\bapp\b/g, name))
  await client.end()
  return Object.assign(new URL(owner), { username: name, password: 'of-the-role' }).href
}

export async function startApp(folder: string, port: number, env: NodeJS.ProcessEnv) {
  const { child, ended } = startProgram(process.execPath, ['app.ts'], {
    cwd: folder,
    env: { ...CREDENTIALS, ...env, PORT: String(port) },
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let printed = ''
  child.stdout?.on('data', (text: Buffer) => (printed += text.toString()))
  const url = `http://127.0.0.1:${port}`
  await vi.waitFor(() => fetch(`${url}/livez`), { timeout: 60_000, interval: 100 })
  return { child, ended, url, lines: () => printed.split('\n').slice(0, -1) }
}

/** The status of the answer to a signed delivery report. */
export async function report(url: string, messageId: string, fields: SmsDeliveryFields = {}): Promise<number> {
  const body = JSON.stringify(callback.smsDelivery({ messageId, ...fields }))
  const headers = { 'x-service-signature': signCallback(body, CREDENTIALS.SIGNING_SECRET) }
  return (await fetch(`${url}/webhooks/status`, { method: 'POST', headers, body })).status
}
