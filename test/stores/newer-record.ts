/** A record that a later version of this package wrote stays unchanged and blocks no other record. */
import type { MessagingWebhooksError, Store } from 'messaging-webhooks'
import type { Claim, NewEvent, NewExpectation, OpenStore } from 'messaging-webhooks/store'
import { expect } from 'vitest'
import {
  admit,
  claim,
  DAY_MS,
  list,
  namesOf,
  sample,
  settlementOf,
  START_MS,
} from '../../src/store-conformance/samples.ts'

/** How the text of such a record begins. */
export const NEWER_STATE = '[2,0]'

const LATER_MS = START_MS + 120_000
const MESSAGES = ['other', 'newer', 'last']

/** Each was sent later than the one before. */
function sent(message: string, index: number): NewExpectation {
  const { messageKey } = sample({ message })
  const sentAtMs = START_MS + index
  const overdueAtMs = START_MS + 60_000
  return { messageKey, sentAtMs, overdueAtMs, expectation: { messageId: message, sentAtMs } }
}

/** A report that is not final. */
function openReport(message: string, at: number): NewEvent {
  const event = sample({ message, at })
  return { ...event, order: `${event.order.slice(0, 12)}1${event.order.slice(13)}` }
}

/** The smallest page of all pages. */
async function keysOfAll(
  expectations: NonNullable<OpenStore<object>['expectations']>,
  page: Omit<Parameters<typeof expectations>[0], 'after' | 'limit'>,
): Promise<readonly string[]> {
  const keys: string[] = []
  for (let after: string | undefined, isFirst = true; isFirst || after !== undefined; isFirst = false) {
    const { items, next } = await expectations({ ...page, after, limit: 1 })
    keys.push(...items.map(({ messageKey }) => messageKey))
    after = next
  }
  return keys.toSorted()
}

/** `replace` writes `NEWER_STATE` over the record with this key. `isAtomic`: an erasure removes everything or nothing. */
export async function checkNewerRecord(
  store: Store<object>,
  replace: (messageKey: string) => Promise<void> | void,
  { isAtomic = false }: { readonly isAtomic?: boolean } = {},
): Promise<void> {
  const reports: MessagingWebhooksError[] = []
  const open = await store.open({ onWork() {}, report: (error) => void reports.push(error) })
  const { messageKey } = sample({ message: 'newer' })
  const settleAll = (claims: readonly Claim[]) =>
    open.settle(
      claims.map((one) => settlementOf(one, { outcome: 'done' })),
      START_MS,
    )
  try {
    await open.expect?.(MESSAGES.map(sent), START_MS)
    const reportsAt = (at: number) => MESSAGES.map((message) => openReport(message, at))
    await admit(open, reportsAt(1))
    const { claims } = await claim(open)
    expect(claims).toHaveLength(3)
    await replace(messageKey)

    expect(await admit(open, reportsAt(2))).toEqual(['new', 'newer', 'new'])
    expect(await settleAll(claims)).toEqual(claims.map((one) => one.messageKey !== messageKey))
    const afterwards = await claim(open, { nowMs: LATER_MS })
    expect(namesOf(afterwards.claims).toSorted()).toEqual(['last-2', 'other-2'])
    await settleAll(afterwards.claims)
    expect(new Set(reports.map(({ code, detail }) => `${code} ${detail}`))).toEqual(
      new Set([`store_newer Record of message ${messageKey}.`]),
    )

    const found = await open.overdue?.({ nowMs: LATER_MS, limit: 10 })
    expect(found?.items.map((one) => one.expectation.messageId).toSorted() ?? ['last', 'other']).toEqual([
      'last',
      'other',
    ])
    const asked = MESSAGES.map((message) => ({ ...sample({ message, at: 9 }), order: '' }))
    expect((await open.admitOverdue?.(asked, LATER_MS)) ?? [true, false, true]).toEqual([true, false, true])
    await settleAll((await claim(open, { nowMs: LATER_MS })).claims)
    const latest = async (message: string) => open.latest(sample({ message }).messageKey)
    await expect(latest('newer')).rejects.toMatchObject({ code: 'store_newer' })
    const page = { after: undefined, limit: 10, fromMs: 0, toMs: LATER_MS }
    const listed = [
      (await list(open)).items.map(({ id }) => id),
      (await open.kept(page)).items.map(({ id }) => id),
      (await open.expectations?.(page))?.items.map((one) => one.messageKey),
    ]
    for (const ids of listed) expect(ids ?? []).not.toContain(messageKey)
    const others = ['last', 'other'].map((message) => sample({ message }).messageKey).toSorted()
    if (open.expectations !== undefined) expect(await keysOfAll(open.expectations, page)).toEqual(others)

    for (let steps = 0; steps < 5; steps += 1) await open.prune(LATER_MS + 90 * DAY_MS)
    expect(await admit(open, reportsAt(1), LATER_MS)).toEqual(['new', 'newer', 'new'])
    const targets = MESSAGES.map((message) => ({ messageKey: sample({ message }).messageKey }))
    const erase = async () => open.forget({ targets, dryRun: false }, LATER_MS)
    await expect(erase()).rejects.toMatchObject({ code: 'store_newer' })
    expect((await latest('last')) === undefined).toBe(!isAtomic)
  } finally {
    await open.close()
  }
}
