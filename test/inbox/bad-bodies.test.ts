/**
 * Bodies that databases stumble over, among forty-nine good ones, through HTTP into each store, and through the spool into
 * SQLite: the good ones are dispatched, and the bad one with its problem and exact bytes.
 */
import { join } from 'node:path'
import { memoryStore, type Store } from 'messaging-webhooks'
import { sqliteStore } from 'messaging-webhooks/sqlite'
import { callback } from 'messaging-webhooks/testing'
import { expect, test } from 'vitest'
import { faultyStore } from '../support/faulty-store.ts'
import { post, receiving } from '../support/receiving.ts'
import { ownFolder } from '../support/own-folder.ts'

const NOW = Math.floor(Date.now() / 1_000)
const NEIGHBOURS = 49
const DELIVERED = 'message.delivered'
const UNREADABLE = 'unrecognized'

const good = (messageId: string): string => JSON.stringify(callback.smsDelivery({ messageId, timestamp: NOW }))

/** A good body whose id is this piece of JSON. */
const withId = (json: string): string => good('ID').replace('"ID"', () => json)
let members = 0
/** A good body of its own message, with one more member. */
const withMember = (json: string): string => `${good(`member ${(members += 1)}`).slice(0, -1)},${json}}`

const BAD_BODIES: readonly (readonly [name: string, body: string | Buffer, becomes: string])[] = [
  ['NUL in the id', withId('"a\\u0000b"'), DELIVERED],
  ['an id that is one lone surrogate', withId('"\\ud800"'), DELIVERED],
  ['an id that is another', withId('"\\ud801"'), DELIVERED],
  ['surrogates the wrong way round', withId('"\\udc00\\ud800"'), DELIVERED],
  ['an id of 200 kB', withId(`"${'x'.repeat(200_000)}"`), DELIVERED],
  ['an id with separators', withId('"a:b{c}\\n,\'%s$1?"'), DELIVERED],
  ['an id that is an unsafe integer', withId('12345678901234567890'), DELIVERED],
  ['an unsafe integer that reads as the same number', withId('12345678901234567891'), DELIVERED],
  ['an id that is not a scalar', withId('{}'), UNREADABLE],
  ['bad UTF-8 in the id', Buffer.from(withId('"\xff"'), 'latin1'), DELIVERED],
  ['other bad UTF-8 in the id', Buffer.from(withId('"\xfe"'), 'latin1'), DELIVERED],
  ['bad UTF-8 in another member', Buffer.from(withMember('"note":"\xc3\x28"'), 'latin1'), DELIVERED],
  ['NUL in another member', withMember('"note":"\\u0000"'), DELIVERED],
  ['1e400', withMember('"n":1e400'), DELIVERED],
  ['a member named __proto__', withMember('"__proto__":{"status":"failed"}'), DELIVERED],
  ['a byte order mark', Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(good('mark'))]), DELIVERED],
  ['UTF-16', Buffer.from(good('utf16'), 'utf16le'), UNREADABLE],
  ['a raw NUL', withId('"a\u0000b"'), UNREADABLE],
  ['nothing', '', UNREADABLE],
]

interface Way {
  readonly store: Store
  /** Before the callbacks, and after them. */
  readonly fail?: () => void
  readonly back?: () => void
}

const WAYS: Readonly<Record<string, () => Way>> = {
  'the memory store': () => ({ store: memoryStore() }),
  SQLite: () => ({ store: sqliteStore(join(ownFolder(), 'inbox.db')) }),
  'the spool into SQLite': () => {
    const store = faultyStore(sqliteStore(join(ownFolder(), 'inbox.db')))
    return { store, fail: () => void (store.fault = 'throws'), back: () => void (store.fault = 'none') }
  },
}

test.each(Object.entries(WAYS))('through %s', { timeout: 60_000 }, async (_name, way) => {
  const { store, fail, back } = way()
  const { receiver, url, errors } = await receiving({ store }, { kind: 'status' })
  const seen = new Map<string, string>()
  let times = 0
  receiver.onAny((event) => {
    seen.set(event.raw.toString('latin1'), event.type)
    times += 1
  })
  await receiver.start()
  fail?.()
  const expected = new Map<string, string>()
  for (const [index, [, body, becomes]] of BAD_BODIES.entries()) {
    const neighbours = Array.from({ length: NEIGHBOURS }, (_, at) => good(`good ${index} ${at}`))
    const bodies = [...neighbours.slice(0, 25), body, ...neighbours.slice(25)]
    const answers = await Promise.all(bodies.map((each) => post(url, Buffer.from(each))))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([204]))
    for (const neighbour of neighbours) expected.set(neighbour, DELIVERED)
    expected.set(Buffer.from(body).toString('latin1'), becomes)
  }
  back?.()
  expect(await receiver.drain({ deadlineMs: 30_000 })).toBe(true)
  for (const [name, body, becomes] of BAD_BODIES)
    expect(seen.get(Buffer.from(body).toString('latin1')), name).toBe(becomes)
  expect(seen).toEqual(expected)
  expect(times).toBe(expected.size)
  expect(errors.map(({ code }) => code)).toEqual(fail === undefined ? [] : expect.arrayContaining(['store_outage']))
  if (fail !== undefined) expect(errors.map(({ code }) => code)).not.toContain('event_refused')
})
