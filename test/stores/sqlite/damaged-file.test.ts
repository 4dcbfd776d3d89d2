/**
 * A database file that was spoilt while nobody had it open: cut off, with pages that hold something else, with a log of
 * another state. What is answered 204 then is handed over, or in the spool, or in the file for whoever mends it; the
 * receiver says that something is wrong, and ends when it is told to. `EVERY_BYTE=1` takes many more places.
 */
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { MessagingWebhooksError } from 'messaging-webhooks'
import { sqliteStore } from 'messaging-webhooks/sqlite'
import { callback } from 'messaging-webhooks/testing'
import { beforeAll, expect, test } from 'vitest'
import { sample, START_MS } from '../../../src/store-conformance/samples.ts'
import { post, receiving } from '../../support/receiving.ts'

const WHOLE = process.env['EVERY_BYTE'] !== undefined
const PATIENT = { timeout: WHOLE ? 1_800_000 : 120_000 }
const MARKER = 'SECRET-OF-A-BODY'
const CALLBACKS = 4
const PARTS = ['', '-wal', '-shm'] as const
type Part = (typeof PARTS)[number]
type Damage = (path: string) => void

let model = ''

function emptyFolder(): string {
  return mkdtempSync(join(tmpdir(), 'sqlite-damaged-'))
}

function copyParts(from: string, to: string): void {
  for (const part of PARTS) {
    rmSync(`${to}${part}`, { force: true })
    if (existsSync(`${from}${part}`)) copyFileSync(`${from}${part}`, `${to}${part}`)
  }
}

/** A file with a log that was not written back, as a kill leaves them: events that wait, of several sizes. */
beforeAll(async () => {
  const folder = emptyFolder()
  const live = join(folder, 'live.db')
  model = join(folder, 'model.db')
  const store = await sqliteStore(live).open({ onWork: () => {} })
  const events = Array.from({ length: 40 }, (_, at) =>
    sample({ message: `old-${at}`, raw: Buffer.alloc(1 + (at % 5) * 2_500, MARKER) }),
  )
  await store.admit(events.slice(0, 30), START_MS)
  const other = new DatabaseSync(live)
  other.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  other.close()
  await store.admit(events.slice(30), START_MS)
  copyParts(live, model)
  await store.close()
  return () => rmSync(folder, { recursive: true, force: true })
})

/** Opens a receiver over the file and posts to it what is given; resolves to what was handed over. */
async function run(path: string, messageIds: readonly string[], isDone: (handled: ReadonlySet<string>) => boolean) {
  const handled = new Set<string>()
  const errors: MessagingWebhooksError[] = []
  const { receiver, server, url } = await receiving({ store: sqliteStore(path), spool: `${path}-own-spool` })
  receiver.onError((error) => void errors.push(error))
  receiver.on('message.*', ({ messageId }) => void handled.add(messageId))
  let refused: unknown
  await receiver.start().catch((error: unknown) => (refused = error))
  const statuses: number[] = []
  for (const messageId of messageIds) statuses.push((await post(url, callback.smsDelivery({ messageId }))).status)
  await expect
    .poll(() => isDone(handled) || errors.some(({ code }) => code.startsWith('store_')), { timeout: 30_000 })
    .toBe(true)
  server.closeAllConnections()
  server.close()
  await receiver.close({ deadlineMs: 500 })
  const said = [...errors, ...(refused instanceof Error ? [refused] : [])]
  expect(said.map((error) => `${error.message} ${String(error.cause)}`).join()).not.toContain(MARKER)
  return { handled, statuses, codes: errors.map(({ code }) => code), refused }
}

function holds(path: string, text: string): boolean {
  return PARTS.some((part) => existsSync(`${path}${part}`) && readFileSync(`${path}${part}`).includes(text))
}

async function weather(damage: Damage) {
  const folder = emptyFolder()
  const path = join(folder, 'inbox.db')
  copyParts(model, path)
  damage(path)
  const messageIds = Array.from({ length: CALLBACKS }, (_, at) => `new-${at}`)
  const first = await run(path, messageIds, (handled) => messageIds.every((id) => handled.has(id)))
  expect(first.statuses).toEqual(messageIds.map(() => 204))
  const open = messageIds.filter((id) => !first.handled.has(id) && !holds(path, `"messageId":"${id}"`))
  if (open.length > 0) expect([...first.codes, first.refused]).not.toEqual([undefined])
  // Somebody puts the whole file back.
  copyParts(model, path)
  const second = await run(path, ['last'], (handled) => [...open, 'last'].every((id) => handled.has(id)))
  expect(open.filter((id) => !second.handled.has(id))).toEqual([])
  expect(second.handled).toContain('last')
  rmSync(folder, { recursive: true })
  return { ...first, open }
}

const cut = (part: Part, at: number): Damage => (path) => truncateSync(`${path}${part}`, at)

const fill = (part: Part, from: number, to: number, byte: number): Damage => (path) => {
  const bytes = readFileSync(`${path}${part}`)
  writeFileSync(`${path}${part}`, bytes.fill(byte, from, to))
}

test('explore', PATIENT, async () => {
  const counts = new Map<string, number>()
  const cases: [string, Damage][] = []
  const size = (part: Part) => readFileSync(`${model}${part}`).length
  console.log(PARTS.map(size))
  for (const part of PARTS) {
    const total = size(part)
    const step = WHOLE ? 1024 : 9_973
    for (let at = 0; at < total; at += step) cases.push([`cut ${part} ${at}`, cut(part, at)])
    for (const at of [1, 15, 16, 17, 31, 32, 33, 99, 100, 101, 511, 4095, 4096, 4097]) if (at < total) cases.push([`cut ${part} ${at}`, cut(part, at)])
    for (const byte of [0, 0xff, 0x41]) for (let at = 0; at < total; at += WHOLE ? 4096 : 20_480) cases.push([`fill ${part} ${at} ${byte}`, fill(part, at, at + 4096, byte)])
    for (let at = 0; at < 100; at += WHOLE ? 1 : 9) cases.push([`byte ${part} ${at}`, fill(part, at, at + 1, 0xa5)])
  }
  console.log(cases.length)
  for (const [name, damage] of cases) {
    const begun = Date.now()
    try {
      const { codes, refused, open } = await weather(damage)
      const key = `${[...new Set(codes)].join()} / ${refused instanceof Error && 'code' in refused ? String(refused.code) : String(refused)} / open ${open.length}`
      counts.set(key, (counts.get(key) ?? 0) + 1)
      if (Date.now() - begun > 3000) console.log('SLOW', name, Date.now() - begun, key)
    } catch (error) {
      console.log('FAILED', name, String(error).slice(0, 600))
    }
  }
  console.log(counts)
})
