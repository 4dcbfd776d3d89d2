/**
 * A database file that was corrupted while no process had it open: truncated, with foreign pages, or with the log of
 * another state. Each event answered 204 is dispatched, in the spool, or still in the file for a later repair. The
 * receiver reports the problem and closes when asked. `EVERY_BYTE=1` tests many more places.
 */
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { MessagingWebhooksError } from 'messaging-webhooks'
import { sqliteStore } from 'messaging-webhooks/sqlite'
import { callback } from 'messaging-webhooks/testing'
import { beforeAll, expect, test } from 'vitest'
import { admit, sample } from '../../../src/store-conformance/samples.ts'
import { post, receiving } from '../../support/receiving.ts'
import { hostOf } from '../../support/stores.ts'

const WHOLE = process.env['EVERY_BYTE'] !== undefined
const TIMEOUT = { timeout: WHOLE ? 1_800_000 : 120_000 }
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

/** A file with events of several sizes and a log that was not checkpointed, as a kill leaves them. */
beforeAll(async () => {
  const folder = emptyFolder()
  const live = join(folder, 'live.db')
  model = join(folder, 'model.db')
  const store = await sqliteStore(live).open(hostOf())
  const events = Array.from({ length: 40 }, (_, at) =>
    sample({ message: `old-${at}`, raw: Buffer.alloc(1 + (at % 5) * 2_500, MARKER) }),
  )
  await admit(store, events.slice(0, 30))
  const other = new DatabaseSync(live)
  other.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  other.close()
  await admit(store, events.slice(30))
  copyParts(live, model)
  await store.close()
  return () => rmSync(folder, { recursive: true, force: true })
})

/** Opens a receiver over the file and posts the given callbacks; resolves to what it dispatched. */
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
  // The whole file is restored.
  copyParts(model, path)
  const second = await run(path, ['last'], (handled) => [...open, 'last'].every((id) => handled.has(id)))
  expect(open.filter((id) => !second.handled.has(id))).toEqual([])
  expect(second.handled).toContain('last')
  rmSync(folder, { recursive: true })
  return { ...first, open }
}

const cut =
  (part: Part, at: number): Damage =>
  (path) =>
    truncateSync(`${path}${part}`, at)

const fill =
  (part: Part, from: number, to: number, byte: number): Damage =>
  (path) => {
    const bytes = readFileSync(`${path}${part}`)
    writeFileSync(`${path}${part}`, bytes.fill(byte, from, Math.min(to, bytes.length)))
  }

const PAGE_BYTES = 4_096

/** Truncates at intervals, overwrites every page, and changes every byte of a header. */
function allDamages(): readonly (readonly [string, Damage])[] {
  return PARTS.flatMap((part) => {
    const total = readFileSync(`${model}${part}`).length
    const upTo = (most: number, step: number) => Array.from({ length: Math.ceil(most / step) }, (_, at) => at * step)
    const edges = [1, 16, 31, 33, 99, 101, PAGE_BYTES - 1, PAGE_BYTES + 1].filter((at) => at < total)
    return [
      ...[...upTo(total, 1_024), ...edges].map((at) => [`${part} cut off at ${at}`, cut(part, at)] as const),
      ...[0, 0x41, 0xff].flatMap((byte) =>
        upTo(total, PAGE_BYTES).map(
          (at) => [`${part} filled with ${byte} at ${at}`, fill(part, at, at + PAGE_BYTES, byte)] as const,
        ),
      ),
      ...upTo(100, 1).map((at) => [`${part} changed at ${at}`, fill(part, at, at + 1, 0xa5)] as const),
    ]
  })
}

const SOME: readonly (readonly [string, Damage])[] = [
  ['the file empty', cut('', 0)],
  ['the file cut off in the middle of a page', cut('', 9 * PAGE_BYTES + 7)],
  ['the first page zeroed', fill('', 0, PAGE_BYTES, 0)],
  ['pages overwritten', fill('', 2 * PAGE_BYTES, 12 * PAGE_BYTES, 0xff)],
  ['the log cut off in the middle', cut('-wal', 6 * PAGE_BYTES + 99)],
  ['the index of the log overwritten', fill('-shm', 0, 32_768, 0xff)],
]

test('loses nothing that was acknowledged, and reports the corruption', TIMEOUT, async () => {
  let outages = 0
  const damages = WHOLE ? allDamages() : SOME
  for (const [name, damage] of damages)
    try {
      const { codes } = await weather(damage)
      if (codes.includes('store_outage')) outages += 1
    } catch (error) {
      throw new Error(`With ${name}.`, { cause: error })
    }
  console.log(`${damages.length} damages, ${outages} of them outages of the store`)
  expect(outages).toBeGreaterThan(0)
})
