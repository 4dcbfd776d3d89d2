/** Bodies and searches of any size have a bounded cost. */
import { expect, test } from 'vitest'
import type { EventList } from '../../src/inspector/routes.ts'
import { sqliteStore } from 'messaging-webhooks/sqlite'
import { post } from '../support/receiving.ts'
import { as, inspecting } from './inspecting.ts'
import { ownFile } from '../support/own-folder.ts'

const READ = { 'x-may': 'read' }

test('a body of 3,000 levels is shown up to the size limit', async () => {
  const { get, payment, receiver } = await inspecting()
  for (const name of ['in', 'authKey'])
    await post(payment, `{"id":"deep","${name}":${'['.repeat(3_000)}1${']'.repeat(3_000)},"after":[]}`)
  await receiver.drain()
  const { items } = as<EventList>((await get('api/events')).body)
  expect(items).toHaveLength(2)
  for (const { id } of items)
    for (const may of ['read', 'reveal']) expect((await get(`api/events/${id}`, { 'x-may': may })).status).toBe(200)
})

test('concurrent searches queue, and are asked to retry beyond the queue’s limit', async () => {
  const { get } = await inspecting({ store: sqliteStore(ownFile()) })
  const answers = await Promise.all(Array.from({ length: 60 }, () => get('api/events?q=unknown', READ)))
  const busy = answers.filter(({ status }) => status === 503)
  expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(22)
  expect(busy.length).toBeGreaterThan(0)
  for (const { body, response } of busy) {
    expect(body).toMatchObject({ error: { code: 'inspector_busy' } })
    expect(response.headers.get('retry-after')).toBe('3')
  }
  expect((await get('api/events?q=unknown', READ)).status).toBe(200)
})
