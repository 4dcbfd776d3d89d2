/** Answers what the main thread asks: what was asked at once, in one transaction where that can be. */
import { MessagingWebhooksError } from '../../errors.ts'
import type { ClaimRequest } from '../../inbox/store.ts'
import { UNTIMED, type Database } from './database.ts'
import type { SyncStore } from './engine.ts'
import { unpackEvents, type PackedEvents } from './packing.ts'
import { TOGETHER, type Reply, type Request } from './protocol.ts'

/** Answers in the order of the requests. */
type AnswerAll = (requests: readonly Request[]) => readonly Reply[]

export function createAnswering({ transaction }: Pick<Database, 'transaction'>, store: SyncStore): AnswerAll {
  function answer(request: Request): Reply {
    try {
      return { number: request.number, ok: true, value: perform(store, request) }
    } catch (error) {
      return failure(request.number, error)
    }
  }

  /** One commit for all, durable where one of them must be. */
  function answerTogether(requests: readonly Request[]): readonly Reply[] {
    const durable = requests.some(({ verb }) => verb === 'admit' || verb === 'admitAndClaim')
    try {
      return transaction(durable, UNTIMED, () =>
        requests.map((request): Reply => ({ number: request.number, ok: true, value: perform(store, request) })),
      )
    } catch (error) {
      // Of the file or its disk: another try would fail as this one, perhaps after as long a wait for a lock.
      if (error instanceof MessagingWebhooksError) return requests.map(({ number }) => failure(number, error))
      // Of the data: nobody suffers for what another one asked.
      return requests.map(answer)
    }
  }

  return (requests) => {
    const replies: Reply[] = []
    let together: Request[] = []
    function answerGathered(): void {
      const [first, second] = together
      if (first !== undefined) replies.push(...(second === undefined ? [answer(first)] : answerTogether(together)))
      together = []
    }
    for (const request of requests) {
      if (TOGETHER.has(request.verb)) {
        together.push(request)
      } else {
        answerGathered()
        replies.push(answer(request))
      }
    }
    answerGathered()
    return replies
  }
}

function perform(store: SyncStore, { verb, args }: Request): unknown {
  if (verb === 'admit') {
    const [packed, nowMs] = args as [PackedEvents, number]
    return store.admit(unpackEvents(packed), nowMs)
  }
  if (verb === 'admitAndClaim') {
    const [packed, claim] = args as [PackedEvents, ClaimRequest]
    return store.admitAndClaim(unpackEvents(packed), claim)
  }
  const call = store[verb] as (...args: readonly unknown[]) => unknown
  return call(...args)
}

/** An error of ours loses its class on its way to the other thread. */
export function failure(number: number, error: unknown): Reply {
  const ours = error instanceof MessagingWebhooksError ? { code: error.code, detail: error.detail } : undefined
  return { number, ok: false, error: error instanceof Error ? error : String(error), ours }
}
