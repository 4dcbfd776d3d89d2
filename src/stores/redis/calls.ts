/**
 * One call of a script for many items: a call costs the server more than most of what is done in it. Of a cluster each
 * partition is called alone, and no call is so long that others on the server would feel it.
 */
import type { ClaimRequest } from '../../inbox/store.ts'
import type { Engine } from './engine.ts'
import type { Holders } from './holders.ts'
import type { Keys } from './partitions.ts'

/** A millisecond or so of the server's time. */
const MOST_ITEMS = 64
/** Bodies may be large. */
const MOST_BYTES = 1_048_576

export interface Member<T> {
  readonly item: T
  /** The name by which the script knows that it has run for this. */
  readonly name: string
  /** Its place among all items. */
  readonly index: number
  /** The place of its key in `keys`, counted as Lua does. */
  readonly key: number
}

export interface Call<T> {
  readonly name: string
  readonly keys: Keys
  readonly members: readonly Member<T>[]
}

interface Growing<T> extends Call<T> {
  readonly keys: [string, ...string[]]
  readonly members: Member<T>[]
  bytes: number
}

/** `bytesOf`: how much of an item is sent, beside what all have. */
export function callsFor<T extends { readonly messageKey: string }>(
  items: readonly T[],
  { partitions, nextCall }: Engine,
  bytesOf: (item: T) => number = () => 0,
): readonly Call<T>[] {
  const calls: Growing<T>[] = []
  /** By key, or one for all where there are no slots. */
  const open = new Map<string, Growing<T>>()
  const hasSlots = partitions.groups.length > 1
  items.forEach((item, index) => {
    const dueKey = partitions.dueKeyOf(item.messageKey)
    const bytes = bytesOf(item)
    const slot = hasSlots ? dueKey : ''
    let call = open.get(slot)
    if (call === undefined || call.members.length === MOST_ITEMS || call.bytes + bytes > MOST_BYTES) {
      call = { name: nextCall(), keys: [dueKey], members: [], bytes: 0 }
      calls.push(call)
      open.set(slot, call)
    }
    const at = call.keys.indexOf(dueKey)
    const key = at === -1 ? call.keys.push(dueKey) : at + 1
    call.members.push({ item, name: `${call.name}.${call.members.length}`, index, key })
    call.bytes += bytes
  })
  return calls
}

/** What the calls answered for each member, in the order of the items. */
export function inPlace<T, R>(calls: readonly Call<T>[], answers: readonly (readonly R[])[]): readonly R[] {
  const found: R[] = []
  calls.forEach(({ members }, at) => {
    const ofCall = answers[at] ?? []
    if (ofCall.length !== members.length) throw new TypeError('The script answered for fewer than it was given.')
    members.forEach(({ index }, place) => {
      const answer = ofCall[place]
      if (answer !== undefined) found[index] = answer
    })
  })
  return found
}

export function isFailure(result: PromiseSettledResult<unknown>): result is PromiseRejectedResult {
  return result.status === 'rejected'
}

export function valuesOf<T>(results: readonly PromiseSettledResult<T>[]): T[] {
  return results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
}

export function throwFirst(results: readonly PromiseSettledResult<unknown>[]): void {
  const failure = results.find(isFailure)
  if (failure !== undefined) throw failure.reason
}

interface Asked {
  readonly messageKey: string
  /** Under which it was asked for. */
  readonly holder: string
  /** The name by which the script knows that it has run for this. */
  readonly name: string
  readonly leaseUntilMs: number
}

/**
 * Leases that may be ours though no answer said so, for a connection broke: they are asked for again under the name of the
 * same call, which gets the same, and are not left to run out.
 */
export interface Unanswered {
  add(asked: readonly Asked[]): void
  /** Takes those out that this request may get, at most as many as it wants. */
  take(request: ClaimRequest): readonly Asked[]
}

/** What was asked for under a name that is ours no more, the store gives back by itself. */
export function createUnanswered(
  { partitions }: Pick<Engine, 'partitions'>,
  holders: Pick<Holders, 'isOurs'>,
): Unanswered {
  let waiting: readonly Asked[] = []
  return {
    add(asked) {
      waiting = [...waiting, ...asked]
    },
    take({ limit, nowMs, exclude }) {
      if (waiting.length === 0) return waiting
      const valid = waiting.filter(
        ({ leaseUntilMs, messageKey, holder }) =>
          leaseUntilMs > nowMs && holders.isOurs(partitions.dueKeyOf(messageKey), holder),
      )
      const fitting: Asked[] = []
      const messages = new Set(exclude)
      for (const asked of valid) {
        if (fitting.length === limit || messages.has(asked.messageKey)) continue
        messages.add(asked.messageKey)
        fitting.push(asked)
      }
      waiting = valid.filter((asked) => !fitting.includes(asked))
      return fitting
    },
  }
}
