/** The thread writes queued requests in one transaction, and each request gets its own answer. */
import { join } from 'node:path'
import type { MessageStore, NewEvent } from 'messaging-webhooks/store'
import { sqliteStore } from 'messaging-webhooks/sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { admit, claim, LONG_MS, sample, settling } from '../../../src/store-conformance/samples.ts'
import { hostOf } from '../../support/stores.ts'
import { ownFolder } from '../../support/own-folder.ts'

async function opened(): Promise<{ readonly path: string; readonly open: MessageStore }> {
  const folder = ownFolder()
  const path = join(folder, 'inbox.db')
  const open = await sqliteStore({ path }).open(hostOf())
  onTestFinished(() => open.close())
  return { path, open }
}

/** The database refuses this time. */
const refused = (name: string): NewEvent => sample({ name, message: name, awaits: 1, reorderWaitMs: Number.NaN })

test('an event that the database refuses affects no other', async () => {
  const { open } = await opened()
  const asked = await Promise.allSettled([
    admit(open, [sample({ message: 'a' })]),
    admit(open, [sample({ message: 'b' })]),
    admit(open, [refused('c')]),
    claim(open),
    admit(open, [sample({ message: 'd' })]),
    open.counts(),
  ])
  expect(asked.flatMap(({ status }, index) => (status === 'rejected' ? [index] : []))).toEqual([2])
  const { claims } = await claim(open)
  expect(await open.counts()).toEqual({ unsettled: 3, deadLetters: 0 })
  expect(claims.length).toBeLessThanOrEqual(3)
})

test('answers arrive in request order, each to its own request', async () => {
  const { open } = await opened()
  const first = sample({ message: 'a' })
  async function lease(): Promise<string | undefined> {
    const [granted] = await open.run([{ do: 'lease', key: first.messageKey, forMs: LONG_MS }])
    return granted?.id
  }
  const answers = await Promise.all([
    admit(open, [first]),
    admit(open, [first]),
    lease(),
    lease(),
    admit(open, [sample({ message: 'b' }), first]),
    open.counts(),
  ])
  expect(answers).toEqual([
    ['new'],
    ['duplicate'],
    first.id,
    undefined,
    ['new', 'duplicate'],
    { unsettled: 2, deadLetters: 0 },
  ])
})

test('a deferrable settlement is written with the next request, and without one', async () => {
  const { open } = await opened()
  await admit(open, [sample({ message: 'a' }), sample({ message: 'b' })])
  const [a, b] = (await claim(open)).claims.map((claimed) => settling(claimed))
  if (a === undefined || b === undefined) throw new Error('Expected two claims.')
  const settled = open.run([a], true)
  expect(await admit(open, [sample({ message: 'c' })])).toEqual(['new'])
  expect(await settled).toMatchObject([{ held: true }])
  expect(await open.run([b], true)).toMatchObject([{ held: true }])
  expect(await open.counts()).toEqual({ unsettled: 1, deadLetters: 0 })
})

test('closing the store writes deferred settlements first', async () => {
  const { path, open } = await opened()
  await admit(open, [sample({ message: 'a' })])
  const [claimed] = (await claim(open)).claims
  if (claimed === undefined) throw new Error('Expected one claim.')
  const settled = open.run([settling(claimed)], true)
  await open.close()
  expect(await settled).toMatchObject([{ held: true }])
  const again = await sqliteStore({ path }).open(hostOf())
  onTestFinished(() => again.close())
  expect(await again.counts()).toEqual({ unsettled: 0, deadLetters: 0 })
})
