/** Records, overdue checks, ends and lists of sends. */
import { becomeOverdue, endSend, expect } from '../../messages/sends.ts'
import { MessagingWebhooksError } from '../../public/errors.ts'
import { isSentTo, MOST_SENT_LOOKED_AT } from '../lists.ts'
import type { Indexes, ScannedRecord } from '../record-store.ts'
import type { OpenStore, StoredExpectation } from '../store.ts'
import { expectationOf } from './answers.ts'
import { andThen, reading, type Command, type Runner } from './commands.ts'

type Verbs = Required<
  Pick<OpenStore, 'expect' | 'overdue' | 'admitOverdue' | 'awaitNoMore' | 'expectations' | 'sentTo'>
>

export function createSendVerbs({ runner, indexes }: { readonly runner: Runner; readonly indexes: Indexes }): Verbs {
  return {
    expect: (messages, nowMs) =>
      runner.run(messages.map((sent) => ({ key: sent.messageKey, decide: (record) => expect(record, sent, nowMs) }))),
    overdue: (request) =>
      andThen(indexes.overdue(request), ({ keys, nextMs }) =>
        andThen(runner.run(keys.map(reading)), (records) => {
          const items = records.flatMap((record, index) => {
            const [messageKey, send] = [keys[index], record?.send]
            return messageKey === undefined || send === undefined ? [] : [{ messageKey, expectation: send.expectation }]
          })
          // The index may name records without a send. Pause before asking for them again.
          const isLeft = items.length === 0 && keys.length > 0
          return { items, nextMs: isLeft && nextMs !== undefined ? Math.max(nextMs, request.nowMs + AGAIN_MS) : nextMs }
        }),
      ),
    admitOverdue(events, nowMs) {
      const commands = events.map((event): Command<boolean | 'full'> => ({
        key: event.messageKey,
        decide: (record) => becomeOverdue(record, event, nowMs),
        admits: { event, nowMs, full: 'full' },
      }))
      return andThen(runner.run(commands), (answers) => {
        // Return the admitted ones. The others are asked for again.
        if (answers.includes('full') && !answers.includes(true)) throw new MessagingWebhooksError('store_full')
        return answers.map((answer) => answer === true)
      })
    },
    awaitNoMore(ended) {
      const commands = ended.map(({ messageKey, expectation }): Command<undefined> => ({
        key: messageKey,
        decide: (record) => endSend(record, expectation),
      }))
      return andThen(runner.run(commands), () => {})
    },
    expectations({ messageKey, ...page }) {
      if (messageKey !== undefined)
        return andThen(runner.run([reading(messageKey)]), ([record]) => {
          const one = record && expectationOf(messageKey, record)
          return { items: one === undefined ? [] : [one] }
        })
      return andThen(indexes.scanSends({ ...page, newestFirst: false }), ({ items, next }) => ({
        items: items.flatMap(expectationsIn),
        ...(next !== undefined && { next }),
      }))
    },
    sentTo({ to, after, limit, fromMs = -Infinity, toMs = Infinity }) {
      const look = { after, limit: MOST_SENT_LOOKED_AT, fromMs, toMs, newestFirst: true }
      return andThen(indexes.scanSends(look), ({ items: looked, next: end }) => {
        const items: StoredExpectation[] = []
        for (const [index, one] of looked.entries()) {
          const [found] = expectationsIn(one)
          if (found === undefined || !isSentTo({ to }, found.expectation)) continue
          if (items.length === limit) return { items, next: looked[index - 1]?.place ?? '' }
          items.push(found)
        }
        const last = looked.at(-1)?.record.send?.sentAtMs
        if (end === undefined || last === undefined) return { items }
        return { items, next: end, lookedBackToMs: last }
      })
    },
  }
}

const AGAIN_MS = 5_000

function expectationsIn({ key, record }: ScannedRecord): readonly StoredExpectation[] {
  const one = expectationOf(key, record)
  return one === undefined ? [] : [one]
}
