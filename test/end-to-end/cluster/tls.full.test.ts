/** A Postgres that lets nobody in without TLS, with a certificate that it signed itself: what `sslmode` says is done. */
import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { callback } from 'messaging-webhooks/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { postgresPrograms, startPostgres, type PostgresServer } from '../../support/servers/postgres.ts'
import { storeOf } from '../../support/servers/store-spec.ts'
import { post, receiving } from '../../support/receiving.ts'
import { temporaryFolder } from './cluster.ts'
import { titleWith } from '../../support/skipping.ts'

const PATIENT = { timeout: 120_000 }
const POLL = { timeout: 60_000 }

function whyNo(): string | undefined {
  if (process.env['CI'] === 'true') return undefined
  if (postgresPrograms() === undefined) return 'there is no Postgres on this machine'
  if (spawnSync('openssl', ['version']).status !== 0) return 'there is no openssl on this machine'
  return undefined
}

const reason = whyNo()

const ending: (() => Promise<void>)[] = []
let server: PostgresServer
let certificate = ''

beforeAll(async () => {
  if (reason !== undefined) return
  const folder = temporaryFolder((work) => void ending.push(work))
  certificate = join(folder, 'server.crt')
  const key = join(folder, 'server.key')
  const subject = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1']
  const args = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-keyout', key, '-out', certificate]
  execFileSync('openssl', [...args, ...subject], { stdio: 'pipe' })
  server = await startPostgres({
    tls: { key: readFileSync(key, 'utf8'), certificate: readFileSync(certificate, 'utf8') },
  })
  ending.push(server.remove)
}, PATIENT.timeout)

afterAll(async () => {
  for (const end of ending) await end()
})

const WORKING = [
  ['no-verify', () => '?sslmode=no-verify'],
  ['require, as libpq has it', () => '?uselibpqcompat=true&sslmode=require'],
  ['verify-full, with the certificate', () => `?sslmode=verify-full&sslrootcert=${encodeURIComponent(certificate)}`],
] as const

test.skipIf(reason !== undefined).each(WORKING)(
  titleWith(reason, 'sslmode %s is taken'),
  PATIENT,
  async (name, query) => {
    const store = await storeOf({ engine: 'postgres', url: server.url({ query: query() }), name: 'tls' })
    const { receiver, url, errors } = await receiving({ store })
    const handled: string[] = []
    receiver.on('message.delivered', ({ messageId }) => void handled.push(messageId))
    await receiver.start()
    expect((await post(url, callback.smsDelivery({ messageId: name }))).status).toBe(204)
    await expect.poll(() => handled, POLL).toEqual([name])
    expect(errors).toEqual([])
  },
)

const REFUSED = [
  ['disable, which the server refuses', '?sslmode=disable'],
  ['verify-full, for nobody vouches for the certificate', '?sslmode=verify-full'],
] as const

test.skipIf(reason !== undefined).each(REFUSED)(
  titleWith(reason, 'sslmode %s, is refused'),
  PATIENT,
  async (_, query) => {
    const store = await storeOf({ engine: 'postgres', url: server.url({ query }), name: 'tls' })
    const { receiver, errors } = await receiving({ store })
    const started = receiver.start()
    await expect.poll(() => errors.map(({ code }) => code), PATIENT).toEqual(['store_failed'])
    await receiver.close()
    await expect(started).rejects.toMatchObject({ code: 'receiver_closed' })
  },
)
