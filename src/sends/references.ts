/**
 * References. One names a single send, or a list, of which each number is a send of its own. The record of the reference says
 * which numbers it was sent to, so that neither a send nor a list repeats the other.
 */
import { MessagingWebhooksError } from '../public/errors.ts'
import type { SentMessages } from '../public/intention.ts'
import { comparable } from '../runtime/recipient-forms.ts'
import type { MessageStore } from '../inbox/store.ts'
import { writeInBatches, type ExpectPlaces } from './expect.ts'
import { isRefusal } from './expectations.ts'
import { findSend, type RecordedSend } from './pending.ts'

/** Enough to distinguish the numbers of a reference. */
const DIGEST_LENGTH = 16

export function createReferences({ sendKeyOf, now }: Pick<ExpectPlaces, 'sendKeyOf' | 'now'>) {
  const digestOf = (messageKey: string): string => messageKey.slice(0, DIGEST_LENGTH)

  return (reference: string, project: string | undefined) => {
    const messageKey = sendKeyOf(reference, project)
    const keyOf = (number: string): string => sendKeyOf(reference, project, comparable(number))
    const digest = (number: string): string => digestOf(keyOf(number))
    return {
      messageKey,
      /** The key of a number of a list. */
      keyOf,
      digest,
      /** The send without the numbers that the answer refuses: a list under the reference may send to them. */
      withoutRefused(send: RecordedSend, { messages, recipients = [] }: SentMessages): RecordedSend {
        const { numbers } = send.expectation
        if (numbers === undefined) return send
        const refused = new Set<string>()
        const sentTo = new Set<string>()
        for (const { to = '', code } of recipients) (isRefusal(code) ? refused : sentTo).add(digest(to))
        for (const { to = '' } of messages) sentTo.add(digest(to))
        const left = numbers.filter((each) => sentTo.has(each) || !refused.has(each))
        return { ...send, expectation: { ...send.expectation, numbers: left } }
      },
      /**
       * Claims the reference for lists, for good. Returns whether a single send under it went to a number. Rejects with
       * `send_repeated` if it is unknown to which numbers that send went.
       */
      async claimForLists(store: MessageStore<object>): Promise<(number: string) => boolean> {
        for (;;) {
          const known = await findSend(store, messageKey)
          if (known !== undefined) {
            const { numbers } = known.expectation
            if (numbers === undefined) throw new MessagingWebhooksError('send_repeated')
            const taken = new Set(numbers)
            return (number) => taken.has(digest(number))
          }
          const sentAtMs = Math.floor(now())
          const expectation = { sentAtMs, recipients: 0, numbers: [] }
          const mark = { messageKey, sentAtMs, overdueAtMs: undefined, expectation }
          const [isNew] = await writeInBatches(store, [mark], now)
          if (isNew === true) return () => false
        }
      },
    }
  }
}
