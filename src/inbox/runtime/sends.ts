/** Sends: remembered, found overdue, ended, and listed. */
import { becomeOverdue, endSend, expect } from '../../messages/sends.ts'
import { MessagingWebhooksError } from '../../errors.ts'
import { isSentTo, MOST_SENT_LOOKED_AT } from '../filters.ts'
import type { Indexes, ScannedRecord } from '../record-store.ts'
import type { OpenStore, StoredExpectation } from '../store.ts'
import { andThen } from './and-then.ts'
import { expectationOf } from './answers.ts'
import { reading } from './events.ts'
import type { Command, Runner } from './runner.ts'

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
          return { items, nextMs }
        }),
      ),
    admitOverdue(events, nowMs) {
      const commands = events.map((event): Command<boolean | 'full'> => ({
        key: event.messageKey,
        decide: (record) => becomeOverdue(record, event, nowMs),
        admits: { event, full: 'full' },
      }))
      return andThen(runner.run(commands), (answers) => {
        // What was admitted has to be known; the others are asked again.
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

function expectationsIn({ key, record }: ScannedRecord): readonly StoredExpectation[] {
  const one = expectationOf(key, record)
  return one === undefined ? [] : [one]
}
