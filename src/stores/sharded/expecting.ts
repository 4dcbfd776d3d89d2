/** What was sent stands with its message, in the part where that does. */
import { MessagingWebhooksError } from '../../errors.ts'
import { listedAt } from '../../inbox/expected.ts'
import type { JoinedStore, OpenStore } from '../../inbox/store.ts'
import { mergedPage } from './listing.ts'
import { groupedBy, type Parts } from './parts.ts'

export function createExpecting<X extends object>(
  parts: Parts<X>,
  homeOf: JoinedStore<X>['homeOf'],
): Required<Pick<OpenStore<X>, 'expect' | 'overdue' | 'admitOverdue' | 'awaitNoMore' | 'expectations' | 'sentTo'>> {
  /** Each part has its share, all at once; rejects where one does, and the others have theirs. */
  async function inShares<T extends { readonly messageKey: string }>(
    items: readonly T[],
    ask: (part: OpenStore<X>, share: readonly T[]) => Promise<readonly boolean[]>,
  ): Promise<readonly boolean[]> {
    const homes = await Promise.all(items.map(async ({ messageKey }) => homeOf(messageKey)))
    const shares = groupedBy(items, (_, index) => homes[index] ?? '')
    const answers = items.map(() => false)
    await parts.each(
      async (part, name) => {
        const places = shares.get(name) ?? []
        const share = places.flatMap((place) => items[place] ?? [])
        for (const [index, answer] of (await ask(part, share)).entries()) answers[places[index] ?? -1] = answer
      },
      [...shares.keys()],
    )
    return answers
  }

  return {
    expect: (messages, nowMs) =>
      inShares(messages, async (part, share) => {
        if (part.expect === undefined) throw new MessagingWebhooksError('expect_unsupported')
        return part.expect(share, nowMs)
      }),
    /** Of those that answer: what is overdue in another is found when that is back. */
    async overdue(page) {
      const all = await parts.some(async (part) => (await part.overdue?.(page)) ?? { items: [], nextMs: undefined })
      const times = all.flatMap(({ nextMs }) => nextMs ?? [])
      const items = all.flatMap((found) => found.items)
      const nextMs = items.length > page.limit ? page.nowMs : times.length === 0 ? undefined : Math.min(...times)
      return { items: items.slice(0, page.limit), nextMs }
    },
    admitOverdue: (events, nowMs) =>
      inShares(events, async (part, share) => (await part.admitOverdue?.(share, nowMs)) ?? share.map(() => false)),
    async awaitNoMore(ended, nowMs) {
      await inShares(ended, async (part, share) => {
        await part.awaitNoMore?.(share, nowMs)
        return []
      })
    },
    async expectations(page) {
      if (page.messageKey !== undefined) {
        const part = await parts.get(await homeOf(page.messageKey))
        if (part.expectations === undefined) throw new MessagingWebhooksError('expect_unsupported')
        return part.expectations(page)
      }
      return mergedPage(
        parts,
        page,
        async (part, one) => {
          if (part.expectations === undefined) throw new MessagingWebhooksError('expect_unsupported')
          return part.expectations({ ...page, ...one })
        },
        {
          isBefore: (one, other) => listedAt(one.expectation) < listedAt(other.expectation),
          isPassed: () => false,
        },
      )
    },
    sentTo: (page) =>
      mergedPage(parts, page, async (part, one) => (await part.sentTo?.({ ...page, ...one })) ?? { items: [] }, {
        isBefore: (one, other) => listedAt(one.expectation) > listedAt(other.expectation),
        isPassed: ({ expectation }, lookedBackToMs) => listedAt(expectation) >= lookedBackToMs,
      }),
  }
}
