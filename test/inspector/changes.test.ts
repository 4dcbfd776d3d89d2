/** Changes through the inspector: rights, origins, results, and the audit log. */
import { randomBytes } from 'node:crypto'
import http from 'node:http'
import { json } from 'express'
import express from 'express'
import { createReceiver } from 'messaging-webhooks'
import { inspector, type AuditEntry } from 'messaging-webhooks/inspector'
import { sqliteStore } from 'messaging-webhooks/sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { AUTH_KEY, listen, post, SIGNING_SECRET } from '../support/receiving.ts'
import { as, inspecting } from './inspecting.ts'
import type {
  DeadLetterIds,
  DeadLetterList,
  DeadLetterResult,
  EventDetail,
  EventList,
  Problem,
  QuarantineList,
  ReverifyResult,
} from '../../src/inspector/routes.ts'
import { ownFile } from '../support/own-folder.ts'

/** With two dead letters; `fixHandlers` makes their handlers succeed. */
async function withDeadLetters() {
  const entries: AuditEntry[] = []
  const made = await inspecting({ retry: { attempts: 1 } }, { audit: (entry) => void entries.push(entry) })
  let isFixed = false
  made.receiver.on('payment', () => {
    if (!isFixed) throw new Error('broken')
  })
  for (const id of ['p-1', 'p-2']) await post(made.payment, { id })
  await expect.poll(async () => (await made.receiver.stats()).deadLetters).toBe(2)
  const { items } = as<DeadLetterList>((await made.get('api/dead-letters')).body)
  return { ...made, entries, ids: items.map(({ id }) => id), items, fixHandlers: () => (isFixed = true) }
}

test('a dead letter names the recipient of its recorded send, masked without the right to reveal', async () => {
  const { receiver, status, get } = await inspecting({ retry: { attempts: 1 } })
  await receiver.sends.expect({ messages: [{ messageId: 'm-1', to: '254711000007' }] })
  receiver.on('message.*', () => Promise.reject(new Error('broken')))
  await post(status, { messageId: 'm-1', status: 'success', channel: 'sms', project: 'Shop' })
  await expect.poll(async () => (await receiver.stats()).deadLetters).toBe(1)
  const recipient = async (may: string) =>
    as<DeadLetterList>((await get('api/dead-letters', { 'x-may': may })).body).items.map((event) => event.recipient)
  expect(await recipient('reveal')).toEqual(['254711000007'])
  expect(await recipient('read')).toEqual(['•••07'])
})

test('a discarded dead letter of another process says only that it is settled', async () => {
  const store = ownFile()
  const before = await inspecting({ store: sqliteStore(store), retry: { attempts: 1 } })
  before.receiver.on('payment', () => Promise.reject(new Error('broken')))
  await post(before.payment, { id: 'p-1' })
  await expect.poll(async () => (await before.receiver.stats()).deadLetters).toBe(1)
  await before.receiver.close()
  const { get, send } = await inspecting({ store: sqliteStore(store) })
  const [id = ''] = as<DeadLetterList>((await get('api/dead-letters')).body).items.map(({ id }) => id)
  const attempts = async () => as<EventDetail>((await get(`api/events/${id}`)).body).attempts
  expect(await attempts()).toMatchObject([{ number: 1, outcome: 'failed' }])
  expect(as<DeadLetterResult>((await send('api/dead-letters/discard', { ids: [id] })).body).done).toEqual([id])
  expect(await attempts()).toMatchObject([{ number: 1, outcome: 'settled' }])
})

test('lists dead letters with their error, replays and discards them, and audits each change', async () => {
  const { get, send, ids, items, entries, receiver, fixHandlers } = await withDeadLetters()
  expect(items).toMatchObject([{ attempts: 1, outcome: 'dead', type: 'payment' }, {}])
  expect(items[0]?.error).toContain('broken')
  const [first = '', second = ''] = ids
  fixHandlers()
  expect(as<DeadLetterResult>((await send('api/dead-letters/replay', { ids: [first, 'nothing'] })).body)).toEqual({
    done: [first],
    missing: ['nothing'],
    failed: [],
  })
  await receiver.drain()
  expect(as<DeadLetterResult>((await send('api/dead-letters/discard', { ids: [second] })).body).done).toEqual([second])
  expect(as<DeadLetterList>((await get('api/dead-letters')).body).items).toEqual([])
  expect(as<DeadLetterResult>((await send('api/dead-letters/force', { ids: [first] })).body).missing).toEqual([first])
  expect(entries).toMatchObject([
    {
      what: 'dead-letters.replay',
      who: 'Ada',
      outcome: 'done',
      ids: [first, 'nothing'],
      result: { done: 1, missing: 1 },
    },
    { what: 'dead-letters.discard', outcome: 'done', ids: [second] },
    { what: 'dead-letters.force', outcome: 'done', result: { done: 0, missing: 1 } },
  ])
})

test('a change needs its right, the page’s own origin, JSON, and a body of at most 64 KiB; refusals are audited', async () => {
  const { origin, ids, entries, receiver, send } = await withDeadLetters()
  const url = `${origin}/look/api/dead-letters/discard`
  const body = JSON.stringify({ ids })
  const type = { 'content-type': 'application/json' }
  const own = { 'sec-fetch-site': 'same-origin' }
  const refused: readonly (readonly [headers: Record<string, string>, body: string, status: number, code: string])[] = [
    [{ ...type, ...own, 'x-may': 'read' }, body, 403, 'write_required'],
    [{ ...type, ...own, 'x-may': 'reveal' }, body, 403, 'write_required'],
    [{ ...type, ...own, 'x-may': 'nothing' }, body, 403, 'forbidden'],
    [type, body, 403, 'foreign_origin'],
    [{ ...type, origin: 'https://elsewhere.example' }, body, 403, 'foreign_origin'],
    [{ ...type, origin: 'null' }, body, 403, 'foreign_origin'],
    [{ ...type, origin, 'sec-fetch-site': 'same-site' }, body, 403, 'foreign_origin'],
    [{ ...type, origin, 'sec-fetch-site': 'cross-site' }, body, 403, 'foreign_origin'],
    [{ 'content-type': 'text/plain', ...own }, body, 403, 'not_json'],
    [{ 'content-type': 'application/x-www-form-urlencoded', ...own }, body, 403, 'not_json'],
    [{ ...type, ...own }, 'no JSON', 400, 'body_invalid'],
    [{ ...type, ...own }, JSON.stringify({ ids: [] }), 400, 'body_invalid'],
    [{ ...type, ...own }, JSON.stringify({ ids, more: true }), 400, 'body_invalid'],
    [{ ...type, ...own }, JSON.stringify({ ids: Array.from({ length: 501 }, String) }), 400, 'body_invalid'],
    [{ ...type, ...own }, JSON.stringify({ ids: [randomBytes(64 * 1024).toString('hex')] }), 413, 'body_too_large'],
  ]
  for (const [headers, sent, status, code] of refused) {
    const response = await fetch(url, { method: 'POST', headers, body: sent })
    expect([response.status, as<Problem>(await response.json()).error.code]).toEqual([status, code])
  }
  expect((await fetch(url, { headers: own })).status).toBe(405)
  expect((await receiver.stats()).deadLetters).toBe(2)
  // A caller without any right is not audited.
  expect(new Set(entries.map(({ outcome }) => outcome))).toEqual(new Set(['refused']))
  expect(entries).toHaveLength(refused.length - 1)
  // A browser without `Sec-Fetch-Site` sends its origin.
  const old = await fetch(url, { method: 'POST', headers: { ...type, origin }, body })
  expect(as<DeadLetterResult>(await old.json()).done).toEqual(ids)
  expect((await send('api/dead-letters/discard', { ids })).status).toBe(200)
})

test('works behind a body parser of the app', async () => {
  const receiver = createReceiver({ credentials: { authKey: AUTH_KEY, signingSecret: SIGNING_SECRET }, logger: false })
  const app = express()
  app.use(json())
  app.use('/look', inspector(receiver, { authorize: () => 'write' }))
  const server = http.createServer(app)
  const url = await listen(server)
  onTestFinished(async () => {
    server.close()
    await receiver.close()
  })
  const response = await fetch(`${url}look/api/dead-letters/replay`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' },
    body: JSON.stringify({ ids: ['nothing'] }),
  })
  expect(await response.json()).toEqual({ done: [], missing: ['nothing'], failed: [] })
})

test('an `audit` that throws or rejects does not undo the change, and is logged', async () => {
  const lines: unknown[] = []
  const logger = { debug() {}, info() {}, warn() {}, error: (fields: object) => void lines.push(fields) }
  const { send } = await inspecting(
    { logger },
    {
      audit() {
        throw new Error('full')
      },
    },
  )
  expect((await send('api/quarantine/reverify', { dryRun: true })).status).toBe(200)
  expect(lines).toMatchObject([{ code: 'inspector_audit_failed', cause: expect.stringContaining('full') as string }])
})

test('logs a change without `audit`', async () => {
  const lines: unknown[] = []
  const logger = { debug() {}, warn() {}, error() {}, info: (fields: object) => void lines.push(fields) }
  const { send } = await inspecting({ logger })
  await send('api/quarantine/reverify', { dryRun: true })
  expect(lines).toMatchObject([
    { code: 'inspector_audit', what: 'quarantine.reverify', who: 'Ada', outcome: 'done', dryRun: true, examined: 0 },
  ])
})

test('the quarantine names each reason, and is verified again: first as a dry run, then for real', async () => {
  let pair = { authKey: AUTH_KEY, signingSecret: 'a-secret-that-was-rotated' }
  const { get, send, status, receiver } = await inspecting({ credentials: () => pair, proof: 'signature' })
  const report = { messageId: 'm-1', status: 'delivered', project: 'Shop', big: 0, text: 'for Erika' }
  await post(status, JSON.stringify(report).replace('"big":0', '"big":12345678901234567890'))
  const list = async (query = '', headers = {}) =>
    as<QuarantineList>((await get(`api/quarantine${query}`, headers)).body)
  const { counts, items, groups } = await list()
  expect(counts).toMatchObject({ provedButStale: 0, unverified: 0, looksLikeOurs: 1, rest: 0 })
  const ids = { messageId: 'm-1', project: 'Shop' }
  expect(items).toMatchObject([{ class: 'looksLikeOurs', code: 'signature_mismatch', kind: 'status', ...ids }])
  expect(groups).toMatchObject([{ class: 'looksLikeOurs', guess: 'wrong secret?', count: 1, project: 'Shop' }])
  expect(groups[0]?.why).toContain('signing secret')
  expect(items[0]?.payload).toContain('12345678901234567890')
  expect(items[0]?.payload).toContain('Erika')
  const unrevealed = (await list('', { 'x-may': 'read' })).items
  expect(unrevealed).toEqual(items.map(({ payload: _, ...others }) => others))
  expect((await list('?class=rest')).items).toEqual([])
  pair = { authKey: AUTH_KEY, signingSecret: SIGNING_SECRET }
  const verify = async (body: object) => as<ReverifyResult>((await send('api/quarantine/reverify', body)).body)
  const found = { examined: 1, admitted: 1, stillUnproved: 0 }
  expect(await verify({ dryRun: true })).toEqual({ dryRun: true, ...found })
  expect(receiver.quarantine.size).toBe(1)
  expect(await verify({ dryRun: false, clockOffsetSeconds: 0 })).toEqual({ dryRun: false, ...found })
  expect(receiver.quarantine.size).toBe(0)
  expect(as<EventList>((await get('api/events')).body).items).toMatchObject([{ messageId: 'm-1' }])
  expect((await send('api/quarantine/reverify', {})).status).toBe(400)
})

test('clearing the quarantine needs the right to write, and is audited', async () => {
  const entries: AuditEntry[] = []
  const { send, status, receiver } = await inspecting(
    { credentials: { authKey: AUTH_KEY, signingSecret: 'a-secret-that-was-rotated' }, proof: 'signature' },
    { audit: (entry) => void entries.push(entry) },
  )
  await post(status, { messageId: 'm-1', status: 'delivered', project: 'Shop' })
  expect((await send('api/quarantine/clear', {}, { 'x-may': 'read' })).status).toBe(403)
  expect(receiver.quarantine.size).toBe(1)
  expect((await send('api/quarantine/clear', {})).body).toEqual({ cleared: 1 })
  expect(receiver.quarantine.size).toBe(0)
  expect(entries).toMatchObject([
    { what: 'quarantine.clear', outcome: 'refused' },
    { what: 'quarantine.clear', who: 'Ada', outcome: 'done', result: { cleared: 1 } },
  ])
})

test('groups dead letters by error, filters them, lists them newest first, and names all matches', async () => {
  const made = await inspecting({ retry: { attempts: 1 } })
  made.receiver.on('payment', ({ data }) => {
    throw Number(data['amount']) > 2 ? new TypeError(`no such amount: ${String(data['amount'])}`) : new Error('closed')
  })
  made.receiver.on('received', () => Promise.reject(new Error('closed')))
  for (const amount of [1, 2, 3, 4, 5]) {
    await post(made.payment, { id: `p-${amount}`, amount, project: amount === 1 ? 'Other' : 'Shop' })
    await made.receiver.drain()
  }
  const list = async (query: string, headers = {}) =>
    as<DeadLetterList>((await made.get(`api/dead-letters?${query}`, headers)).body)
  const all = await list('')
  const names = ({ items }: DeadLetterList) => items.map(({ about }) => about?.split(' ')[0])
  expect(names(all)).toEqual(['p-5', 'p-4', 'p-3', 'p-2', 'p-1'])
  expect(all).toMatchObject({ matching: 5, total: 5, isCut: false })
  expect(all.groups).toMatchObject([{ count: 3 }, { count: 2, cause: 'Error: closed' }])
  expect(all.groups[0]?.cause).toMatch(/^TypeError: no such amount: \d$/)
  const typeErrors = all.groups[0]?.id ?? ''
  expect(names(await list(`error=${typeErrors}`))).toEqual(['p-5', 'p-4', 'p-3'])
  expect(names(await list('project=Other'))).toEqual(['p-1'])
  expect(await list('type=received')).toMatchObject({ items: [], matching: 0, total: 5 })
  expect(await list(`from=${new Date(Date.now() + 60_000).toISOString()}`)).toMatchObject({ items: [], groups: [] })
  const first = await list('limit=2')
  const rest = await list(`limit=200&after=${encodeURIComponent(first.next ?? '')}`)
  expect([...names(first), ...names(rest)]).toEqual(names(all))
  const { ids } = as<DeadLetterIds>((await made.get(`api/dead-letters/ids?error=${typeErrors}`)).body)
  expect(ids).toEqual(all.items.slice(0, 3).map(({ id }) => id))
  expect((await list('', { 'x-may': 'read' })).groups.map(({ cause }) => cause)).toEqual(['TypeError', 'Error'])
  // Changed dead letters are no longer listed.
  await made.send('api/dead-letters/discard', { ids })
  expect(names(await list(''))).toEqual(['p-2', 'p-1'])
})
