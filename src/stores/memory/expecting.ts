/** What was sent: by message, by when it is overdue, and in the order in which the store was told of it. */
import { encodeExpectation, type Expectation, type KnownExpectation } from '../../inbox/expected.ts'
import { EXPECTED, hasEnd } from '../../inbox/order.ts'
import {
  isTarget,
  type ForgetTarget,
  type KeptEvent,
  type NewEvent,
  type NewExpectation,
  type OpenStore,
  type StoredExpectation,
  type StoredLatest,
} from '../../inbox/store.ts'
import { MessagingWebhooksError } from '../../errors.ts'
import { isSentTo } from '../filters.ts'
import { newestPageOf, pageOf } from '../pages.ts'
import { popDue, pushDue, type Due } from './due-heap.ts'
import { unpacked, type Known, type Message } from './message.ts'

/** So many that were forgotten cost nothing. */
const FEW = 1_000

interface Expected extends Omit<NewExpectation, 'expectation'> {
  expectation: Expectation
  /** Nobody has decided whether it is overdue. */
  isPending: boolean
  wasOverdue: boolean
}

interface ExpectingOptions {
  readonly maxExpected: number
  readonly lifeMs: number
  readonly peek: (key: string) => Known | undefined
  /** What awaited a step of this message waits no longer; it is due by `nowMs`. */
  readonly goOn: (message: Message, nowMs: number) => void
  readonly admit: (event: NewEvent, nowMs: number) => boolean
}

interface Expecting extends Required<
  Pick<OpenStore, 'expect' | 'overdue' | 'admitOverdue' | 'awaitNoMore' | 'expectations' | 'sentTo'>
> {
  /** By message. A field, for every event looks at it. */
  readonly byKey: ReadonlyMap<string, Expected>
  /** Forgets those that are too old; says how many. */
  prune(nowMs: number, most: number): number
  kept(): readonly KeptEvent[]
  /** Says whether there was one that is meant. */
  forget(target: ForgetTarget, dryRun: boolean): boolean
}

export function createExpecting(options: ExpectingOptions): Expecting {
  const { maxExpected, lifeMs, peek, goOn, admit } = options
  const byKey = new Map<string, Expected>()
  /** By their sends, and of one time by key. What was forgotten stays until half of them are. */
  let bySend: Expected[] = []
  /** An entry is void where somebody has decided, or it was forgotten. */
  const due: (Due & { readonly of: Expected })[] = []
  let sequence = 0

  function latestOf(messageKey: string): StoredLatest | undefined {
    const found = peek(messageKey)
    const latest = found === undefined ? undefined : unpacked(messageKey, found).latest
    return latest && { record: latest.record, finals: latest.finals.map(({ record }) => record) }
  }

  function hasEnded(messageKey: string): boolean {
    const found = peek(messageKey)
    return found !== undefined && hasEnd(unpacked(messageKey, found).latest)
  }

  function read({ messageKey, expectation, wasOverdue }: Expected): StoredExpectation {
    return { messageKey, expectation, wasOverdue, latest: latestOf(messageKey) }
  }

  function isCurrent({ of }: (typeof due)[number]): boolean {
    return of.isPending && byKey.get(of.messageKey) === of
  }

  return {
    byKey,
    expect(messages, nowMs) {
      const added = messages.filter(({ messageKey }) => !byKey.has(messageKey)).length
      if (byKey.size + added > maxExpected)
        throw new MessagingWebhooksError('store_full', 'It expects too many messages.')
      return messages.map((message) => {
        const { messageKey, overdueAtMs } = message
        if (byKey.has(messageKey)) return false
        const sentAtMs = Math.floor(message.sentAtMs)
        const expected = { ...message, sentAtMs, isPending: overdueAtMs !== undefined, wasOverdue: false }
        byKey.set(messageKey, expected)
        bySend.splice(placeAfter(sentAtMs, messageKey), 0, expected)
        if (overdueAtMs !== undefined) pushDue(due, { dueMs: overdueAtMs, sequence: (sequence += 1), of: expected })
        const found = peek(messageKey)
        if (typeof found === 'object') {
          found.steps |= EXPECTED
          goOn(found, nowMs)
        }
        return true
      })
    },
    overdue({ nowMs, limit }) {
      const found: (typeof due)[number][] = []
      let next = firstCurrent()
      for (; next !== undefined && next.dueMs <= nowMs && found.length < limit; next = firstCurrent()) {
        popDue(due)
        found.push(next)
      }
      // They stay until somebody decides.
      for (const each of found) pushDue(due, each)
      const items = found.map(({ of: { messageKey, expectation } }) => ({ messageKey, expectation }))
      return { items, nextMs: next && Math.max(nowMs, next.dueMs) }
    },
    admitOverdue(events, nowMs) {
      const answers = events.map((event): boolean | 'full' => {
        const expected = byKey.get(event.messageKey)
        if (expected?.isPending !== true) return false
        if (hasEnded(event.messageKey)) {
          expected.isPending = false
          return false
        }
        if (!admit(event, nowMs)) return 'full'
        expected.isPending = false
        expected.wasOverdue = true
        return true
      })
      // What was admitted is to be known; of the rest whoever asks again hears it.
      if (answers.includes('full') && !answers.includes(true)) throw new MessagingWebhooksError('store_full')
      return answers.map((answer) => answer === true)
    },
    awaitNoMore(ended) {
      for (const { messageKey, expectation } of ended) {
        const expected = byKey.get(messageKey)
        if (expected === undefined) continue
        expected.isPending = false
        expected.expectation = expectation
      }
    },
    expectations({ after, limit, fromMs, toMs, messageKey: only }) {
      const one = only === undefined ? undefined : byKey.get(only)
      if (only !== undefined) return { items: one === undefined ? [] : [read(one)] }
      const [, time = fromMs, key = ''] = /^(-?\d+)\.(.*)$/s.exec(after ?? '') ?? []
      const found: Expected[] = []
      for (let at = placeAfter(Number(time), key); ; at += 1) {
        const expected = bySend[at]
        if (expected === undefined || expected.sentAtMs >= toMs || found.length > limit) break
        if (isKnown(expected)) found.push(expected)
      }
      return pageOf(found, limit, read, ({ sentAtMs, messageKey }) => `${sentAtMs}.${messageKey}`)
    },
    sentTo(page) {
      const { fromMs = -Infinity, toMs = Infinity } = page
      const found = bySend
        .slice(placeAfter(fromMs, ''), placeAfter(toMs, ''))
        .filter((expected) => isSentTo(page, expected.expectation) && isKnown(expected))
        .map((expected) => ({ id: expected.messageKey, atMs: expected.sentAtMs, expected }))
      return newestPageOf(found, page, ({ expected }) => read(expected))
    },
    prune(nowMs, most) {
      let forgotten = 0
      for (const expected of bySend) {
        if (forgotten >= most || expected.sentAtMs + lifeMs >= nowMs) break
        if (expected.isPending || !isKnown(expected)) continue
        byKey.delete(expected.messageKey)
        forgotten += 1
      }
      tidy()
      return forgotten
    },
    kept: () =>
      Array.from(byKey.values(), ({ messageKey, sentAtMs, expectation }) => {
        return { messageKey, id: messageKey, atMs: sentAtMs, record: undefined, raw: encodeExpectation(expectation) }
      }),
    forget(target, dryRun) {
      const { messageKey } = target
      if (!byKey.has(messageKey) || !isTarget(target, messageKey)) return false
      if (!dryRun) {
        byKey.delete(messageKey)
        tidy()
      }
      return true
    },
  }

  function isKnown(expected: Expected): boolean {
    return byKey.get(expected.messageKey) === expected
  }

  function tidy(): void {
    if (bySend.length > FEW && bySend.length > 2 * byKey.size) bySend = bySend.filter(isKnown)
  }

  /** How many stand before the place, and that one with it. */
  function placeAfter(sentAtMs: number, messageKey: string): number {
    let [low, high] = [0, bySend.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      const other = bySend[middle]
      const isBefore =
        other !== undefined &&
        (other.sentAtMs < sentAtMs || (other.sentAtMs === sentAtMs && other.messageKey <= messageKey))
      if (isBefore) low = middle + 1
      else high = middle
    }
    return low
  }

  /** Those before it are void. */
  function firstCurrent(): (typeof due)[number] | undefined {
    for (let [first] = due; first !== undefined; [first] = due) {
      if (isCurrent(first)) return first
      popDue(due)
    }
    return undefined
  }
}

/** What a claim says of it. */
export function knownOf({ expectation, wasOverdue }: Expected): KnownExpectation {
  return { expectation, wasOverdue }
}
