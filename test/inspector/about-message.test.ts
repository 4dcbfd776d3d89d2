/** What the inspector finds about a message beside its reports: events that could not be read, and refused requests. */
import { sqliteStore } from 'messaging-webhooks/sqlite'
import { callback } from 'messaging-webhooks/testing'
import { expect, test } from 'vitest'
import type { EventDetail, EventList, MessageDetail, QuarantineList } from '../../src/inspector/routes.ts'
import { ownFile } from '../support/own-folder.ts'
import { post } from '../support/receiving.ts'
import { as, inspecting } from './inspecting.ts'

const PHONE = '254711000042'
const READ = { 'x-may': 'read' }
const FORGED = `t=${Math.floor(Date.now() / 1_000)},v1=${'0'.repeat(64)}`

const chat = (messageId: string, status: string) =>
  callback.chatApp({ project: 'My Shop', statuses: { message_id: messageId, status, recipient: PHONE } })

async function inspectingFile() {
  const found = await inspecting({ store: sqliteStore(ownFile()) })
  const { get } = found
  return {
    ...found,
    message: async (id: string) => as<MessageDetail>((await get(`api/messages/${id}`)).body),
    list: async (query: string, headers = {}) => as<EventList>((await get(`api/events?${query}`, headers)).body),
    quarantined: async (q: string) => as<QuarantineList>((await get(`api/quarantine?q=${q}`)).body).items,
  }
}

test('an unrecognized event shows its message and project, and is on the page of that message without a place', async () => {
  const { status, receiver, message, list, get } = await inspectingFile()
  await post(status, chat('c-1', 'teleported'))
  await post(status, chat('c-1', 'sent'))
  await post(status, chat('c-2', 'teleported'))
  await receiver.drain()
  const [row] = (await list('type=unrecognized&q=c-2')).items
  expect(row).toMatchObject({ type: 'unrecognized', messageId: 'c-2', project: 'My Shop' })
  const detail = as<EventDetail>((await get(`api/events/${row?.id ?? ''}?of=c-2&project=My+Shop`)).body)
  expect(detail.event).toMatchObject({ messageId: 'c-2', project: 'My Shop' })
  const known = await message('c-1?project=My+Shop')
  expect(known).toMatchObject({ latest: { type: 'message.sent' }, entries: [{ arrival: 1 }, {}] })
  expect(known.entries.map(({ event }) => event.type)).toEqual(['message.sent', 'unrecognized'])
  expect(known.entries[1]).not.toHaveProperty('arrival')
  expect(known.entries[1]?.why).toContain('Neither the status word nor the status code is in a table.')
  // It has no report that could be read.
  expect((await message('c-2')).entries).toMatchObject([{ event: { type: 'unrecognized', messageId: 'c-2' } }])
  expect(await receiver.events.list({ about: 'c-2' })).toMatchObject({ items: [{ type: 'unrecognized' }] })
  // The message of another project has the same id.
  expect((await get('api/messages/c-2?project=Other')).status).toBe(404)
})

test('the search and the page of a message tell of refused requests, by message, recipient and request', async () => {
  const { status, message, list, quarantined, get } = await inspectingFile()
  const forge = (body: object) =>
    post(status, JSON.stringify({ ...body, authKey: 'a guess' }), { headers: { 'x-service-signature': FORGED } })
  expect((await forge(chat('c-1', 'sent'))).status).toBe(401)
  expect((await forge(chat('c-1', 'delivered'))).status).toBe(401)
  expect((await forge(callback.smsDelivery({ messageId: 'm-1' }))).status).toBe(401)
  const refused = { count: 2, since: expect.any(String) as string }
  for (const q of ['c-1', PHONE, `%2B${PHONE}`]) expect(await list(`q=${q}`)).toMatchObject({ items: [], refused })
  expect(JSON.stringify(await list(`q=${PHONE}`, READ))).not.toContain(PHONE)
  expect(await list('q=m-1')).toMatchObject({ refused: { count: 1 } })
  expect(await list('q=m-2')).not.toHaveProperty('refused')
  expect(await list('')).not.toHaveProperty('refused')
  expect(await message('c-1')).toMatchObject({ messageId: 'c-1', entries: [], refused })
  expect((await get('api/messages/m-2')).status).toBe(404)
  const found = await quarantined('c-1')
  expect(found.map(({ messageId }) => messageId)).toEqual(['c-1', 'c-1'])
  expect(await quarantined(found[1]?.id ?? '')).toEqual([found[1]])
  // The report is accepted, and the refused ones stay known.
  await post(status, chat('c-1', 'read'))
  expect(await message('c-1?project=My+Shop')).toMatchObject({ entries: [{}], refused })
})
