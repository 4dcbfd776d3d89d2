/** A store with calls of a test around its own. Programs of tests use it as well, so it imports types only. */
import type { Store } from 'messaging-webhooks'
import type { AnswerOf, Awaitable, Command, MessageStore, StoreCounts, StoreHost } from 'messaging-webhooks/store'
import type { Due, DueRequest } from '../../src/inbox/store.ts'

/** What a test does around the calls of a store. `go` makes the call. */
export interface Around {
  readonly run?: (
    commands: readonly Command[],
    go: () => Awaitable<readonly AnswerOf<Command>[]>,
    deferrable: boolean | undefined,
  ) => Awaitable<readonly AnswerOf<Command>[]>
  readonly due?: (request: DueRequest, go: () => Awaitable<Due>) => Awaitable<Due>
  readonly counts?: (go: () => Awaitable<StoreCounts>) => Awaitable<StoreCounts>
}

/** The store, with the calls of the test around its own. */
export function storeAround(
  inner: Store,
  around: Around,
  change: (open: MessageStore) => Partial<MessageStore> = () => ({}),
  hostFor: (host: StoreHost) => StoreHost = (host) => host,
): Store {
  return {
    capabilities: inner.capabilities,
    async open(host) {
      const open = await inner.open(hostFor(host))
      return {
        ...open,
        run<C extends Command>(commands: readonly C[], deferrable?: boolean) {
          const go = (): Awaitable<readonly AnswerOf<C>[]> => open.run(commands, deferrable)
          // The test answers for the commands that it was given.
          return (around.run?.(commands, go, deferrable) ?? go()) as Awaitable<readonly AnswerOf<C>[]>
        },
        due(request) {
          const go = (): Awaitable<Due> => open.due(request)
          return around.due?.(request, go) ?? go()
        },
        counts: () => around.counts?.(open.counts) ?? open.counts(),
        ...change(open),
      }
    },
  }
}
