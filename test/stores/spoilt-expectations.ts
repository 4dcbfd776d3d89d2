/** What was expected and is spoilt behind a store's back costs only itself, is said once, and is mended as far as anything tells. */
import type { MessagingWebhooksError, Store } from 'messaging-webhooks'
import type { NewExpectation, OpenStore } from 'messaging-webhooks/store'
import { expect } from 'vitest'
import { admit, claim, sample, START_MS } from '../../src/store-conformance/samples.ts'

const LATER_MS = START_MS + 120_000

/** What spoils the field of a message, by its key in hexadecimal digits. */
interface Spoiling {
  /** What is expected is no JSON any more. */
  text(messageKey: string): Promise<void> | void
}

function sent(message: string): NewExpectation {
  const overdueAtMs = START_MS + 60_000
  const { messageKey } = sample({ message })
  const expectation = { messageId: message, sentAtMs: START_MS, overdueAtMs }
  return { messageKey, sentAtMs: START_MS, overdueAtMs, expectation }
}

async function overdue(open: OpenStore<object>): Promise<readonly (string | undefined)[] | undefined> {
  const found = await open.overdue?.({ nowMs: LATER_MS, limit: 10 })
  return found?.items.map(({ expectation }) => expectation.messageId).toSorted()
}

export async function checkSpoiltExpectations(store: Store<object>, spoil: Spoiling): Promise<void> {
  const reports: MessagingWebhooksError[] = []
  const open = await store.open({ onWork() {}, report: (error) => void reports.push(error) })
  try {
    const keyOf = (message: string): string => sent(message).messageKey
    await open.expect?.(['whole', 'reported', 'silent', 'other'].map(sent), START_MS)
    await spoil.text(keyOf('reported'))
    await spoil.text(keyOf('silent'))
    // Looking on reports nothing, and leaves out what cannot be read.
    const page = { after: undefined, limit: 10, fromMs: 0, toMs: LATER_MS }
    const listed = await open.expectations?.(page)
    expect(listed?.items.map(({ expectation }) => expectation.messageId).toSorted()).toEqual(['other', 'whole'])
    expect(reports).toEqual([])

    await admit(open, [sample({ message: 'reported' })])
    const { claims } = await claim(open)
    expect(claims.map(({ expected }) => expected)).toEqual([undefined])
    await expect.poll(() => overdue(open)).toEqual(['other', 'whole'])
    const spoilt = ['reported', 'silent']
    for (let steps = 0; steps < 200 && reports.length < spoilt.length; steps += 1) await open.prune(LATER_MS)
    expect(await overdue(open)).toEqual(['other', 'whole'])
    expect(reports.map(({ code }) => code)).toEqual(spoilt.map(() => 'state_damaged'))
    const details = reports.map(({ detail = '' }) => detail).join('\n')
    for (const message of spoilt) expect(details).toContain(keyOf(message))
  } finally {
    await open.close()
  }
}
